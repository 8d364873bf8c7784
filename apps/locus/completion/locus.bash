# SPDX-License-Identifier: Apache-2.0
# bash completion for locus. `locus complete` knows verbs, options and values; see locus(1).

_locus() {
  local typed line words offer rest path prefix
  # bash splits words at ':' and '=', which are part of ours: take the line apart at blanks alone.
  line=${COMP_LINE:0:COMP_POINT}
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  typed=${words[${#words[@]} - 1]}
  COMPREPLY=()
  while IFS=$'\t' read -r offer rest; do
    if [[ $offer == ':files' ]]; then
      compopt -o filenames 2> /dev/null
      while IFS= read -r path; do
        COMPREPLY+=("$rest$path")
      done < <(compgen -f -- "${typed#"$rest"}")
    else
      COMPREPLY+=("$offer")
      [[ $offer == *[:=/] ]] && compopt -o nospace 2> /dev/null
    fi
  done < <("${words[0]}" complete "${words[@]:1}" 2> /dev/null)
  # What bash replaces begins after the last of its own word breaks.
  prefix=${typed%"${typed##*[:=]}"}
  if [[ -n $prefix ]]; then COMPREPLY=("${COMPREPLY[@]#"$prefix"}"); fi
}

complete -F _locus locus
