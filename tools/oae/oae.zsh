#compdef oae
# SPDX-License-Identifier: GPL-2.0
# zsh completion of oae(8), which says itself what may follow: `oae complete`.

_oae()
{
	local line
	local -a candidates about nospace

	while IFS= read -r line; do
		candidates+=("${line%%$'\t'*}")
		about+=("${line/$'\t'/  -- }")
	done < <("$words[1]" complete "${(@)words[2,CURRENT]}" 2>/dev/null)
	(( $#candidates )) || return 1
	[[ $candidates[1] == *= ]] && nospace=(-S '')
	compadd -l -d about $nospace -- "${candidates[@]}"
}

_oae "$@"
