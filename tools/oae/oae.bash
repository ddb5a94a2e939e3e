# SPDX-License-Identifier: GPL-2.0
# bash completion of oae(8), which says itself what may follow: `oae complete`. Needs
# nothing of the package bash-completion.

_oae()
{
	local line=${COMP_LINE:0:COMP_POINT} cut= word
	local -a words
	# By blanks alone: COMP_WORDS is cut at the colons of an address.
	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	word=${words[-1]}
	# Of a word with colons readline has taken all up to the last.
	[[ $COMP_WORDBREAKS == *:* && $word == *:* ]] && cut=${word%"${word##*:}"}
	COMPREPLY=()
	while IFS=$'\t' read -r word _; do
		[[ $word == *= ]] && compopt -o nospace 2>/dev/null
		COMPREPLY+=("${word#"$cut"}")
	done < <("${COMP_WORDS[0]}" complete "${words[@]:1}" 2>/dev/null)
}

complete -F _oae oae
