# SPDX-License-Identifier: GPL-2.0
# bash completion of oae(8): commands and options as `oae --help` has them, ports
# from the knob dev, peers from /proc. Needs nothing of the package bash-completion.

# The options of a command (none: of oae itself), from its --help.
_oae_options()
{
	"${COMP_WORDS[0]}" "$@" --help 2>/dev/null |
		sed -n 's/^ *\(\(-.\),\)\{0,1\} *\(--[a-z]*\).*/\2 \3/p'
}

_oae_commands()
{
	"${COMP_WORDS[0]}" --help 2>/dev/null | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

_oae_ports()
{
	local list
	{ read -r list <"${OAE_SYS:-/sys}/module/modoae/parameters/dev"; } 2>/dev/null
	echo "${list//,/ }"
}

# The parameters of a module, but for dev of modoae, which `oae port` sets; and each
# with what it is set to, which is then changed.
_oae_knobs()
{
	(cd "${OAE_SYS:-/sys}/module/$1/parameters" && echo *) 2>/dev/null
}

_oae_settings()
{
	local knob
	for knob in $(_oae_knobs "$1"); do
		[[ $1/$knob == modoae/@(dev|stats|ethertype) ]] || echo "$knob="
	done
}

# Those that there are links to.
_oae_peers()
{
	awk 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "peer") at = i; next }
	     at { print $at }' "${OAE_PROC_NET:-/proc/self/net}/modoae/tags" 2>/dev/null | sort -u
}

_oae_counters()
{
	awk '{ print $1 }' "${OAE_PROC_NET:-/proc/self/net}"/modoae{,ip}/stats 2>/dev/null
}

_oae_netns()
{
	ip netns list 2>/dev/null | sed 's/ .*//'
}

# The words of this command line that are no options, the command first; a colon
# is not the end of one, whatever COMP_WORDBREAKS says.
_oae_split()
{
	local line=${COMP_LINE:0:COMP_POINT} word skip=
	local -a words
	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	_oae_cur=${words[-1]} _oae_prev=${words[-2]} _oae_args=()
	for word in "${words[@]:1:${#words[@]}-2}"; do
		if [[ $skip ]]; then
			skip=
		elif [[ $word == -n && ${#_oae_args[@]} -eq 0 ]]; then
			skip=1
		elif [[ $word != -* ]]; then
			_oae_args+=("$word")
		fi
	done
}

# Offers words; of those with colons only what readline has not taken already. Not
# with compgen -W, which would expand what a device may be named, $(reboot) say.
_oae_offer()
{
	local cut='' word
	local -a words
	read -rd '' -a words <<<"$1"
	[[ $COMP_WORDBREAKS == *:* && $_oae_cur == *:* ]] && cut=${_oae_cur%"${_oae_cur##*:}"}
	for word in "${words[@]}"; do
		[[ $word == "$_oae_cur"* && $word != *[^[:alnum:]_.:@/?=-]* ]] &&
			COMPREPLY+=("${word#"$cut"}")
	done
}

_oae_argument()
{
	case ${_oae_args[0]} in
	show)	_oae_offer "port peer vc state links zones nodes" ;;
	top)	_oae_offer "port peer vc state" ;;
	monitor) _oae_offer "peer vc kind" ;;
	stats)	_oae_offer "$(_oae_counters)" ;;
	help)	_oae_offer "$(_oae_commands)" ;;
	get)	_oae_offer "$(_oae_knobs modoae)" ;;
	set)	_oae_offer "$(_oae_settings modoae)" ;;
	gateway) case ${_oae_args[1]} in
		'')	_oae_offer "show set" ;;
		show)	_oae_offer "$(_oae_knobs modoaeip)" ;;
		set)	_oae_offer "$(_oae_settings modoaeip)" ;;
		esac ;;
	port)	case ${_oae_args[1]} in
		'')	_oae_offer "add del show" ;;
		add)	_oae_offer "$(cd /sys/class/net && echo *)" ;;
		del)	_oae_offer "$(_oae_ports)" ;;
		esac ;;
	expose)	;;
	*)	[[ ${#_oae_args[@]} -eq 1 ]] && _oae_offer "$(_oae_peers)" ;;
	esac
}

_oae()
{
	local _oae_cur _oae_prev
	local -a _oae_args
	COMPREPLY=()
	_oae_split
	case $_oae_prev in
	port)	if [[ ${#_oae_args[@]} -gt 1 ]]; then
			_oae_offer "$(_oae_ports)"
			return
		fi ;;
	-p)	if [[ ${_oae_args[0]} != show ]]; then
			_oae_offer "$(_oae_ports)"
			return
		fi ;;
	--port) _oae_offer "$(_oae_ports)"; return ;;
	state)	_oae_offer "open down opening closing closed"; return ;;
	peer|--for) _oae_offer "$(_oae_peers)"; return ;;
	kind)	_oae_offer "rcv send post cancel timer note outcome link port zone"; return ;;
	--netns) _oae_offer "$(_oae_netns)"; return ;;
	-n)	if [[ ${#_oae_args[@]} -eq 0 ]]; then
			_oae_offer "$(_oae_netns)"
			return
		fi ;;
	esac
	if [[ $_oae_cur == -* ]]; then
		_oae_offer "$(_oae_options "${_oae_args[@]:0:1}")"
	elif [[ ${#_oae_args[@]} -eq 0 ]]; then
		_oae_offer "$(_oae_commands) help"
	else
		_oae_argument
	fi
}

complete -F _oae oae
