# Completions of holdfast for bash. Made by `holdfast help --completion bash` (make generated). Don't edit it.
_holdfast() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} i
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "record inspect recover list play export restore verify devices bench help --help --version" -- "$cur"))
    return
  fi
  # Bash takes --name=value and file:PATH apart: the value is what is behind the last = or :.
  local option=$prev value=$cur
  if [ "$cur" = "=" ]; then value=; elif [ "$prev" = "=" ]; then option=${COMP_WORDS[COMP_CWORD-2]}; fi
  if [ "$cur" = ":" ] || [ "$prev" = ":" ]; then
    i=$((COMP_CWORD - 1)); [ "$cur" = ":" ] && { i=$COMP_CWORD; value=; }
    [ "${COMP_WORDS[i-1]}" = file ] && _holdfast_files "$value"
    return
  fi
  for ((i = 2; i < COMP_CWORD; i++)); do
    [ "${COMP_WORDS[i]}" = -- ] && { option=; cur=${cur/#-/./-}; break; }
  done
  case $command in
  record)
    case $option in
    -o|--output) _holdfast_files "$value" opus; return ;;
    --continue) _holdfast_files "$value" opus; return ;;
    --input) compopt -o nospace 2>/dev/null; COMPREPLY=($(compgen -W "alsa:default alsa: file: tone: -" -- "$value")); return ;;
    --format) COMPREPLY=($(compgen -W "u8 s16le s24le s24_32le s32le f32le" -- "$value")); return ;;
    --rate) :; return ;;
    --channels) :; return ;;
    --channel) COMPREPLY=($(compgen -W "1 2 mix" -- "$value")); return ;;
    --max-ms) :; return ;;
    --min-valid-ms) :; return ;;
    --bitrate) :; return ;;
    --complexity) :; return ;;
    --resampler) COMPREPLY=($(compgen -W "fastest medium best" -- "$value")); return ;;
    --gaps) COMPREPLY=($(compgen -W "fill close" -- "$value")); return ;;
    --pre-roll) :; return ;;
    --period-ms) :; return ;;
    --buffer-ms) :; return ;;
    --wait-device) :; return ;;
    --session) :; return ;;
    --round) :; return ;;
    --take-id) :; return ;;
    --min-pause-ms) :; return ;;
    --auto-pause) :; return ;;
    --stop-after-silence) :; return ;;
    --block-frames) :; return ;;
    esac
    case $cur in
    -*) COMPREPLY=($(compgen -W "-o --output --continue --input --realtime --format --rate --channels --channel --max-ms --min-valid-ms --bitrate --complexity --resampler --gaps --arm --pre-roll --period-ms --buffer-ms --mmap --wait-device --force --session --round --take-id --json --min-pause-ms --auto-pause --stop-after-silence --no-ui --block-frames --help" -- "$cur")) ;;
    *) : ;;
    esac ;;
  inspect)
    case $option in
    -j|--jobs) :; return ;;
    --files-from) _holdfast_files "$value"; return ;;
    --min-pause-ms) :; return ;;
    esac
    case $cur in
    -*) COMPREPLY=($(compgen -W "--json -j --jobs --files-from -0 --null --min-pause-ms --help" -- "$cur")) ;;
    *) _holdfast_files "$cur" opus ogg wav flac aiff aif mp3 oga au caf w64 rf64 ;;
    esac ;;
  recover)
    case $option in
    esac
    case $cur in
    -*) COMPREPLY=($(compgen -W "--json --help" -- "$cur")) ;;
    *) _holdfast_files "$cur" opus ;;
    esac ;;
  list)
    case $option in
    esac
    case $cur in
    -*) COMPREPLY=($(compgen -W "--json --trash --empty --help" -- "$cur")) ;;
    *) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur")) ;;
    esac ;;
  play)
    case $option in
    --output) compopt -o nospace 2>/dev/null; COMPREPLY=($(compgen -W "alsa:default alsa: file:" -- "$value")); return ;;
    --from) :; return ;;
    --to) :; return ;;
    esac
    case $cur in
    -*) COMPREPLY=($(compgen -W "--output --from --to --json --help" -- "$cur")) ;;
    *) _holdfast_files "$cur" opus ogg wav flac aiff aif mp3 oga au caf w64 rf64 ;;
    esac ;;
  export)
    case $option in
    -o|--output) _holdfast_files "$value" wav flac opus; return ;;
    --from) :; return ;;
    --to) :; return ;;
    esac
    case $cur in
    -*) COMPREPLY=($(compgen -W "-o --output --from --to --force --json --help" -- "$cur")) ;;
    *) _holdfast_files "$cur" opus ogg wav flac aiff aif mp3 oga au caf w64 rf64 ;;
    esac ;;
  restore)
    case $option in
    esac
    case $cur in
    -*) COMPREPLY=($(compgen -W "--json --help" -- "$cur")) ;;
    *) _holdfast_files "$cur" opus ;;
    esac ;;
  verify)
    case $option in
    -j|--jobs) :; return ;;
    --files-from) _holdfast_files "$value"; return ;;
    esac
    case $cur in
    -*) COMPREPLY=($(compgen -W "--json -j --jobs --files-from -0 --null --help" -- "$cur")) ;;
    *) _holdfast_files "$cur" opus ;;
    esac ;;
  devices)
    case $option in
    esac
    case $cur in
    -*) COMPREPLY=($(compgen -W "--json --help" -- "$cur")) ;;
    *) : ;;
    esac ;;
  bench)
    case $option in
    --input) compopt -o nospace 2>/dev/null; COMPREPLY=($(compgen -W "alsa:default alsa: file: tone: -" -- "$value")); return ;;
    --bitrate) :; return ;;
    --complexity) :; return ;;
    --period-ms) :; return ;;
    --buffer-ms) :; return ;;
    --seconds) :; return ;;
    esac
    case $cur in
    -*) COMPREPLY=($(compgen -W "--input --bitrate --complexity --period-ms --buffer-ms --mmap --json --seconds --help" -- "$cur")) ;;
    *) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur")) ;;
    esac ;;
  help)
    case $option in
    --completion) COMPREPLY=($(compgen -W "bash zsh fish" -- "$value")); return ;;
    esac
    case $cur in
    -*) COMPREPLY=($(compgen -W "--man --completion --help" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -W "record inspect recover list play export restore verify devices bench help config exit-codes" -- "$cur")) ;;
    esac ;;
  esac
}
# Files with one of the endings, and folders.
_holdfast_files() {
  local word=$1 name ending
  shift
  compopt -o filenames 2>/dev/null
  local IFS=$'\n'
  for name in $(compgen -f -- "$word"); do
    if [ -d "$name" ] || [ $# -eq 0 ]; then COMPREPLY+=("$name"); continue; fi
    for ending in "$@"; do
      case $name in *."$ending") COMPREPLY+=("$name"); break ;; esac
    done
  done
}
complete -F _holdfast holdfast
