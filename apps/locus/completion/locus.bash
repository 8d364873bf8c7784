# SPDX-License-Identifier: Apache-2.0
# bash completion for locus. `locus complete` knows verbs, options and values; see locus(1).

_locus() {
  local typed line words offer rest path prefix offers=() files=()
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
        files+=("$rest$path")
      done < <(compgen -f -- "${typed#"$rest"}")
    else
      offers+=("$offer")
      [[ $offer == *[:=/] ]] && compopt -o nospace 2> /dev/null
    fi
  done < <("${words[0]}" complete "${words[@]:1}" 2> /dev/null)
  # What bash replaces begins after the last of its own word breaks.
  prefix=${typed%"${typed##*[:=]}"}
  for offer in "${offers[@]}"; do
    offer=${offer#"$prefix"}
    # A shard may have any name: what bash puts on the line must be a word, never a command. Where
    # there are files, bash quotes all by itself.
    if [[ -n $offer && ${#files[@]} -eq 0 ]]; then printf -v offer '%q' "$offer"; fi
    COMPREPLY+=("$offer")
  done
  for path in "${files[@]}"; do COMPREPLY+=("${path#"$prefix"}"); done
}

complete -F _locus locus
