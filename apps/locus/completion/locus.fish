# SPDX-License-Identifier: Apache-2.0
# fish completion for locus. `locus complete` knows verbs, options and values; see locus(1).

function __locus_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    for line in ($words[1] complete $words[2..-1] "$typed" 2>/dev/null)
        set -l parts (string split -m 1 \t -- $line)
        if test "$parts[1]" = ':files'
            set -l stem (string sub -s (math (string length -- "$parts[2]") + 1) -- "$typed")
            for path in (__fish_complete_path "$stem")
                echo "$parts[2]$path"
            end
        else
            echo $line
        end
    end
end

complete -c locus -f -a '(__locus_complete)'
