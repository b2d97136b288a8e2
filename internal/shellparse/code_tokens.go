package shellparse

import "strings"

// token is a lexical element of code.
type token struct {
	kind tokenKind
	text string // the value of a string
	open bool   // a string with replacements
}

type tokenKind uint8

const (
	tokenName tokenKind = iota
	tokenString
	tokenTick // a command in backticks
	tokenMark
)

// tokens splits code into names, strings and punctuation. It works for all languages and uses the
// differences in their rows. It finds too much rather than too little: it treats numbers as names,
// and a regular expression as punctuation and names.
func (l *language) tokens(code string) []token {
	var out []token
	for i := 0; i < len(code); {
		b := code[i]
		switch {
		case b <= ' ' && b != '\n':
			i++
		case strings.HasPrefix(code[i:], l.comment) && (l.comment != "#" || i == 0 || code[i-1] <= ' ' || code[i-1] == ';'):
			for i < len(code) && code[i] != '\n' {
				i++
			}
		case strings.IndexByte(l.quotes, b) >= 0:
			var t token
			t, i = l.quoted(code, i)
			if n := len(out); n > 0 && out[n-1].kind == tokenName && l == langPython && strings.ContainsAny(out[n-1].text, "fFtT") && len(out[n-1].text) < 3 {
				t.open = t.open || strings.Contains(t.text, "{")
			}
			if n := len(out); n > 0 && out[n-1].kind == tokenName && l == langPython && len(out[n-1].text) < 3 && strings.Trim(out[n-1].text, "rRbBuUfFtT") == "" {
				out = out[:n-1] // the letter is part of the string
			}
			out = append(out, t)
		case b == '`' && l.ticks != "":
			var t token
			t, i = l.quoted(code, i)
			if l.ticks == "run" {
				t.kind = tokenTick
			} else {
				t.open = strings.Contains(t.text, "${")
			}
			out = append(out, t)
		case b == '$' && i+1 < len(code) && code[i+1] == '\'' || b == '\\' && i+1 < len(code):
			out = append(out, token{kind: tokenMark, text: code[i : i+1]})
			i++
		case isNameByte(b) || b == '-' && l == langLisp && i > 0 && isNameByte(code[i-1]):
			start := i
			for i < len(code) && (isNameByte(code[i]) || l == langLisp && (code[i] == '-' || code[i] == '*')) {
				i++
			}
			name := code[start:i]
			if t, end := l.special(name, code, i); end > i {
				out = append(out, t)
				i = end
				continue
			}
			out = append(out, token{kind: tokenName, text: name})
		default:
			if b == '%' && l == langRuby && i+2 < len(code) && code[i+1] == 'x' && !isNameByte(code[i+2]) && code[i+2] > ' ' {
				text, end := delimited(code, i+2)
				out = append(out, token{kind: tokenTick, text: text, open: strings.Contains(text, "#{")})
				i = end
				continue
			}
			out = append(out, token{kind: tokenMark, text: code[i : i+1]})
			i++
		}
	}
	return out
}

func isNameByte(b byte) bool {
	return b == '_' || b == '$' || b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' || b >= 0x80
}

// special parses perl's quoting words: qx{…} is a command, q and qq are strings.
func (l *language) special(name, code string, i int) (token, int) {
	if l != langPerl || name != "qx" && name != "q" && name != "qq" {
		return token{}, i
	}
	for i < len(code) && code[i] == ' ' {
		i++
	}
	if i >= len(code) || isNameByte(code[i]) || strings.IndexByte(",;=)", code[i]) >= 0 {
		return token{}, 0
	}
	text, end := delimited(code, i)
	t := token{kind: tokenString, text: text, open: name != "q" && strings.ContainsAny(text, "$@")}
	if name == "qx" {
		t.kind = tokenTick
	}
	return t, end
}

// delimited returns the text between a delimiter and its counterpart.
func delimited(code string, i int) (string, int) {
	open := code[i]
	shut := open
	if k := strings.IndexByte("([{<", open); k >= 0 {
		shut = ")]}>"[k]
	}
	depth := 1
	for k := i + 1; k < len(code); k++ {
		switch code[k] {
		case '\\':
			k++
		case shut:
			if depth--; depth == 0 {
				return code[i+1 : k], k + 1
			}
		case open:
			depth++
		}
	}
	return code[i+1:], len(code)
}

// quoted parses a string that starts at i.
func (l *language) quoted(code string, i int) (token, int) {
	q := code[i]
	if triple := strings.Repeat(string(q), 3); l == langPython && strings.HasPrefix(code[i:], triple) {
		text, rest, _ := strings.Cut(code[i+3:], triple)
		return token{kind: tokenString, text: text}, len(code) - len(rest)
	}
	var b strings.Builder
	t := token{kind: tokenString}
	for i++; i < len(code); i++ {
		switch {
		case code[i] == q:
			t.text = b.String()
			return t, i + 1
		case code[i] == '\\' && i+1 < len(code):
			i = unescapeCode(&b, code, i+1)
		default:
			if q != '\'' && strings.IndexByte(l.expands, code[i]) >= 0 {
				t.open = t.open || l.expands != "#" || strings.HasPrefix(code[i:], "#{")
			}
			b.WriteByte(code[i])
		}
	}
	t.text = b.String()
	return t, i
}

// unescapeCode writes the character that the escape at i represents, and returns the last position
// of the escape.
func unescapeCode(b *strings.Builder, code string, i int) int {
	hex := func(n int) int {
		v, k := 0, 0
		for ; k < n && i+1+k < len(code); k++ {
			d := strings.IndexByte("0123456789abcdef", code[i+1+k]|0x20)
			if d < 0 || code[i+1+k] < '0' {
				break
			}
			v = v<<4 | d
		}
		if k > 0 {
			b.WriteRune(rune(v))
		}
		return i + k
	}
	switch c := code[i]; {
	case c == 'n':
		b.WriteByte('\n')
	case c == 't':
		b.WriteByte('\t')
	case c == 'r':
		b.WriteByte('\r')
	case c == '\n':
	case c == 'x':
		return hex(2)
	case c == 'u' && i+1 < len(code) && code[i+1] != '{':
		return hex(4)
	case c >= '0' && c <= '7':
		v, k := 0, 0
		for ; k < 3 && i+k < len(code) && code[i+k] >= '0' && code[i+k] <= '7'; k++ {
			v = v<<3 | int(code[i+k]-'0')
		}
		b.WriteByte(byte(v))
		return i + k - 1
	default:
		b.WriteByte(c)
	}
	return i
}
