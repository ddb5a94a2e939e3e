# SPDX-License-Identifier: GPL-2.0
# fish completion of oae(8), which says itself what may follow: `oae complete`.

function __oae_complete
	set -l words (commandline -opc)
	set -l word (commandline -ct)
	$words[1] complete $words[2..-1] "$word" 2>/dev/null
end

complete -c oae -f -a '(__oae_complete)'
