# SPDX-License-Identifier: Apache-2.0
# bash completion for locus

# The options of a verb.
_locus_options() {
  case $1 in
    gene) echo --type ;;
    'seq batch') echo --store --ceiling --key --prefix --step --max-value --at-max --ttl --count ;;
    'seq set' | 'seq set-if-not-exists')
      echo --store --ceiling --key --prefix --step --max-value --at-max --ttl --value
      ;;
    'seq '*) echo --store --ceiling --key --prefix --step --max-value --at-max --ttl ;;
    'store raise') echo --space --to ;;
    'store '*) echo --space ;;
    'table new') echo --shard ;;
    plan) echo --table --add --remove --weight --load --hot-above --json --svg ;;
    'plan apply') echo --table --plan --most-per-shard --out ;;
    load) echo --table --user --by --seconds --table-name --timeout ;;
    'table publish') echo --expect --next-epoch ;;
    'table get') echo --epoch ;;
    'table history') echo --most ;;
    'table watch') echo --last-good --count ;;
    ring) echo --svg ;;
    assign)
      echo --buyer-column --buyer-type --store --create-store --space --table --keys --scheme \
        --in --out --rejects
      ;;
    encode) echo --keys --space --scheme --key-version --allow-keystream-reuse ;;
    decode) echo --keys --space --scheme --key-version ;;
    inspect) echo --table --keys --space --scheme --key-version ;;
    'snowflake next') echo --worker --datacenter --layout --epoch-ms --count ;;
    'snowflake decode') echo --layout --epoch-ms ;;
    uuid) echo --version --count ;;
    'number format') echo --time-zone --field ;;
    'number parse') echo --time-zone ;;
  esac
}

# What may follow the option $1 of the verb $2. False: it takes no value.
_locus_value() {
  local schemes='siv ff1 ctr64'
  case $1 in
    --type | --buyer-type) COMPREPLY=($(compgen -W 'uint64 text' -- "$3")) ;;
    --scheme)
      [[ $2 == assign ]] && schemes='siv ff1'
      [[ $2 == inspect ]] && schemes='ff1 ctr64'
      COMPREPLY=($(compgen -W "$schemes" -- "$3"))
      ;;
    --version)
      [[ $2 == uuid ]] || return 1
      COMPREPLY=($(compgen -W '4 7' -- "$3"))
      ;;
    --at-max) COMPREPLY=($(compgen -W 'error wrap' -- "$3")) ;;
    --layout) COMPREPLY=($(compgen -W 'default js53' -- "$3")) ;;
    --worker | --datacenter | --epoch-ms) ;;
    --by) COMPREPLY=($(compgen -W 'rows writes' -- "$3")) ;;
    --keys | --table | --in | --out | --rejects | --svg | --load | --plan | --last-good)
      COMPREPLY=($(compgen -f -- "$3"))
      ;;
    --store | --space | --to | --key-version | --shard | --buyer-column) ;;
    --time-zone | --field) ;;
    --add | --remove | --weight | --hot-above | --most-per-shard) ;;
    --user | --seconds | --table-name | --timeout) ;;
    --expect | --epoch | --most) ;;
    --ceiling | --key | --prefix | --step | --max-value | --ttl | --count | --value) ;;
    *) return 1 ;;
  esac
}

_locus() {
  local current=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} verbs=''
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    verbs='gene keys seq snowflake store table plan load ring assign encode decode inspect uuid'
    verbs+=' number --help --version'
    COMPREPLY=($(compgen -W "$verbs" -- "$current"))
    return
  fi
  case $verb in
    keys) verbs='new add activate retire rotate list' ;;
    seq) verbs='next batch set set-if-not-exists get' ;;
    number) verbs='format parse' ;;
    store) verbs='init show restored raise' ;;
    table) verbs='new check init publish get history diff restore watch' ;;
    snowflake) verbs='next decode' ;;
  esac
  if [[ -n $verbs ]]; then
    if ((COMP_CWORD == 2)); then
      COMPREPLY=($(compgen -W "$verbs --help" -- "$current"))
      return
    fi
    verb+=" ${COMP_WORDS[2]}"
  fi
  # A verb of its own, and the beginning of another.
  if [[ $verb == plan ]]; then
    if ((COMP_CWORD == 2)) && [[ $current != -* ]]; then
      COMPREPLY=($(compgen -W 'apply' -- "$current"))
      return
    fi
    if ((COMP_CWORD > 2)) && [[ ${COMP_WORDS[2]} == apply ]]; then verb='plan apply'; fi
  fi
  _locus_value "${COMP_WORDS[COMP_CWORD-1]}" "$verb" "$current" && return
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$(_locus_options "$verb") --help" -- "$current"))
    return
  fi
  case $verb in
    'keys '* | 'table check' | 'table publish' | 'table diff' | ring)
      COMPREPLY=($(compgen -f -- "$current"))
      ;;
  esac
}

complete -o filenames -F _locus locus
