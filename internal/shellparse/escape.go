package shellparse

import (
	"strings"
	"unicode/utf8"
)

// unescapeANSI decodes the escapes of $'…'. A NUL ends the text, as in bash.
func unescapeANSI(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		c := s[i]
		i++
		if c != '\\' || i == len(s) {
			b.WriteByte(c)
			continue
		}
		c = s[i]
		i++
		switch c {
		case 'a':
			b.WriteByte('\a')
		case 'b':
			b.WriteByte('\b')
		case 'e', 'E':
			b.WriteByte(0x1b)
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'v':
			b.WriteByte('\v')
		case '\\', '\'', '"', '?':
			b.WriteByte(c)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n, used := parseDigits(s[i-1:], 8, 3)
			i += used - 1
			if byte(n) == 0 {
				return b.String()
			}
			b.WriteByte(byte(n))
		case 'x', 'u', 'U':
			most := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			n, used := parseDigits(s[i:], 16, most)
			if used == 0 {
				b.WriteByte('\\')
				b.WriteByte(c)
				break
			}
			i += used
			switch {
			case n == 0 || c == 'x' && byte(n) == 0:
				return b.String()
			case c == 'x':
				b.WriteByte(byte(n))
			default:
				b.Write(utf8.AppendRune(nil, rune(n)))
			}
		case 'c':
			if i == len(s) {
				b.WriteString(`\c`)
				break
			}
			c = s[i]
			i++
			if c == '\\' && i < len(s) && s[i] == '\\' {
				i++
			}
			if n := control(c); n != 0 {
				b.WriteByte(n)
			} else {
				return b.String()
			}
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}

// control returns the character of Ctrl and a key.
func control(c byte) byte {
	if c == '?' {
		return 0x7f
	}
	if c >= 'a' && c <= 'z' {
		c -= 'a' - 'A'
	}
	return c & 0x1f
}

// parseDigits parses a number with a maximum number of digits.
func parseDigits(s string, base uint32, most int) (n uint32, used int) {
	for used < len(s) && used < most {
		d := uint32(99)
		switch c := s[used]; {
		case c >= '0' && c <= '9':
			d = uint32(c - '0')
		case c >= 'a' && c <= 'f':
			d = uint32(c-'a') + 10
		case c >= 'A' && c <= 'F':
			d = uint32(c-'A') + 10
		}
		if d >= base {
			break
		}
		n = n*base + d
		used++
	}
	return n, used
}

// unescapeQuoted removes the backslashes that are special in double quotes. If document is true, s is a
// here-document, in which \" is literal.
func unescapeQuoted(s string, document bool) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch c := s[i+1]; {
			case c == '\\' || c == '$' || c == '`' || c == '"' && !document:
				i++
			case c == '\n':
				i++
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
