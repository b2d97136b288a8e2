package codex

import (
	"path"
	"slices"
	"strings"
)

// script returns the script in `bash -lc '…'`. This is the text between the quotes, which is what
// rules and users mean by the command. It returns any other line unchanged.
func script(line string) string {
	words, ok := split(line)
	if ok && len(words) == 3 && (words[1] == "-lc" || words[1] == "-c") &&
		slices.Contains([]string{"bash", "sh", "zsh", "dash"}, path.Base(words[0])) {
		return words[2]
	}
	return line
}

// shellChars are characters with a meaning to a shell outside of quotes.
const shellChars = "|&;<>()$`*?[]#~=%!{}\n\r\t"

// split splits a shell line into its quoted words. ok is false if the line contains something other
// than words.
func split(line string) (words []string, ok bool) {
	var word strings.Builder
	in := false // inside a word
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == ' ':
			if in {
				words = append(words, word.String())
				word.Reset()
			}
			in = false
			continue
		case c == '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, false
			}
			word.WriteString(line[i+1 : i+1+end])
			i += end + 1
		case c == '"':
			n, ok := quoted(line[i+1:], &word)
			if !ok {
				return nil, false
			}
			i += n
		case c == '\\':
			if i++; i == len(line) || line[i] == '\n' {
				return nil, false
			}
			word.WriteByte(line[i])
		case strings.IndexByte(shellChars, c) >= 0:
			return nil, false
		default:
			word.WriteByte(c)
		}
		in = true
	}
	if in {
		words = append(words, word.String())
	}
	return words, true
}

// quoted reads the text up to the closing double quote, and returns its length including that quote.
func quoted(s string, word *strings.Builder) (n int, ok bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return i + 1, true
		case '$', '`':
			return 0, false
		case '\\':
			if i+1 < len(s) && strings.IndexByte("$`\"\\", s[i+1]) >= 0 {
				i++
				word.WriteByte(s[i])
				continue
			}
			word.WriteByte(c)
		default:
			word.WriteByte(c)
		}
	}
	return 0, false
}
