# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# What tools/debugkernel and tools/testkernel have in common: where the source comes from,
# and how a build says how far it is. They set $tools and $cache, and source this.

DISTRIBUTIONS="trixie sid"

die() { echo "tools/${0##*/}: $*" >&2; exit 1; }
say() { echo "tools/${0##*/}: $*" >&2; }

apt() { "$tools/kernels" apt "$@"; }

# "VERSION PACKAGE DISTRIBUTION" of every source of the kernel that is offered, newest last.
offered() {
	for distribution in $DISTRIBUTIONS; do
		apt apt-cache "$distribution" pkgnames linux-source- 2>/dev/null |
			grep -Ex 'linux-source-[0-9.]+' | while read -r package; do
			apt apt-cache "$distribution" madison "$package" |
				awk -F' *[|] *' -v d="$distribution" '{ print $2, $1, d }'
		done
	done | sort -V | tr -s ' '
}

# The newest source: fetched and unpacked unless it is here.
source_dir() {
	mkdir -p "$cache/linux-source"
	exec 8>"$cache/linux-source/lock"
	flock 8
	# shellcheck disable=SC2046
	set -- $(offered | tail -n 1)
	if [ $# -eq 3 ] && [ ! -e "$cache/linux-source/$1/Kconfig" ]; then
		say "fetching $2 $1 of Debian $3"
		rm -rf "$cache/linux-source/new"
		mkdir -p "$cache/linux-source/new/tree"
		if (cd "$cache/linux-source/new" && apt apt-get "$3" download "$2=$1") >&2; then
			dpkg-deb --fsys-tarfile "$cache/linux-source/new/$2"_*.deb |
				tar -xO "./usr/src/$2.tar.xz" | xz -dc |
				tar -x -C "$cache/linux-source/new/tree" --strip-components=1
			mv "$cache/linux-source/new/tree" "$cache/linux-source/$1"
		fi
		rm -rf "$cache/linux-source/new"
	fi
	exec 8>&-
	found=$(find "$cache/linux-source" -mindepth 2 -maxdepth 2 -name Kconfig |
		sort -V | tail -n 1)
	[ -n "$found" ] || die "no source of a kernel can be fetched"
	echo "${found%/Kconfig}"
}

# Runs make on the source in $tree, in $dir/build; what it says goes to $dir/build.log.
kbuild() {
	make -C "$tree" O="$dir/build" "$@" >>"$dir/build.log" 2>&1 9>&- 8>&- ||
		{ tail -n 20 "$dir/build.log" >&2; die "make $*: see $dir/build.log"; }
}

# build CONFIG FILES TARGET...: what is configured, with progress: of FILES files in the last build.
# What of CONFIG this source does not have, or not with the rest, is named.
build() {
	config=$1 files=$2
	shift 2
	grep -E '^CONFIG_.*=' "$config" | grep -vxFf "$dir/build/.config" | while read -r setting; do
		say "this source has it not, or not with the rest: $setting"
	done
	while sleep 60; do
		say "$(grep -c '^  CC ' "$dir/build.log") files compiled of about $files"
	done &
	reporter=$!
	trap 'kill $reporter 2>/dev/null' EXIT
	kbuild -j"$(nproc)" "$@"
	kill $reporter
	trap - EXIT
}

# Building modules needs no object files of the kernel.
drop_objects() {
	find "$dir/build" \( -name '*.o' -o -name '*.a' -o -name '.tmp_vmlinux*' -o \
		-name 'vmlinux*' \) ! -path '*/scripts/*' ! -path '*/tools/objtool/*' -delete
}
