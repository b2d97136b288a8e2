package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// closeOpen completes the inline signs of a text that is not finished, so that **bold is bold before its end comes,
// and the address of a link is not shown while it arrives.
func closeOpen(s string) string {
	trimmed := strings.TrimRight(s, "*_~`\\! \t\n") // a sign at the end can be the first half of another
	if trimmed == "" {
		return ""
	}
	var open []string
	label := -1 // the last [ without its address
	for i := 0; i < len(trimmed); {
		switch c := trimmed[i]; c {
		case '\\':
			i += 2
			continue
		case '`':
			n := runLen(trimmed[i:])
			end := codeEnd(trimmed[i+n:], n)
			if end < 0 {
				if strings.Trim(trimmed[i+n:], " \n") == "" {
					return closeSigns(trimmed[:i], open)
				}
				return closeSigns(trimmed+strings.Repeat("`", n), open)
			}
			i += n + end + n
			continue
		case '[':
			label = i
		case ']':
			if label < 0 {
				break
			}
			rest := trimmed[i+1:]
			switch {
			case rest == "" && !wordBefore(trimmed, label) || rest != "" && rest[0] == '(' && !strings.Contains(rest, ")"):
				return closeSigns(trimmed[:i]+"](<>)", open)
			default:
				label = -1
			}
		case '*', '_', '~':
			n := runLen(trimmed[i:])
			open = sign(open, trimmed, i, n)
			i += n
			continue
		}
		i++
	}
	if label >= 0 && !wordBefore(trimmed, label) && label+1 < len(trimmed) {
		return closeSigns(trimmed+"](<>)", open)
	}
	return closeSigns(trimmed, open)
}

// sign opens or closes emphasis with the n signs at i.
func sign(open []string, s string, i, n int) []string {
	run := s[i : i+n]
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i+n:])
	spaceBefore, spaceAfter := i == 0 || unicode.IsSpace(before), i+n == len(s) || unicode.IsSpace(after)
	if !spaceBefore && (run[0] != '_' || spaceAfter || !wordRune(after)) {
		for len(run) > 0 && len(open) > 0 && strings.HasPrefix(run, open[len(open)-1]) {
			run = run[len(open[len(open)-1]):]
			open = open[:len(open)-1]
		}
	}
	if spaceAfter || run == "" || run[0] == '_' && !spaceBefore && wordRune(before) {
		return open
	}
	switch {
	case run[0] == '~' && len(run) != 2:
	case len(run) == 3:
		open = append(open, run[:1], run[:2])
	case len(run) < 3:
		open = append(open, run)
	}
	return open
}

func closeSigns(s string, open []string) string {
	s = strings.TrimRight(s, " \t\n")
	for i := len(open) - 1; i >= 0; i-- {
		s += open[i]
	}
	return s
}

func runLen(s string) int {
	n := 1
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}

// codeEnd returns where a run of exactly n backquotes starts, or -1.
func codeEnd(s string, n int) int {
	for i := 0; i < len(s); i++ {
		if s[i] == '`' {
			m := runLen(s[i:])
			if m == n {
				return i
			}
			i += m - 1
		}
	}
	return -1
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func wordBefore(s string, i int) bool {
	r, n := utf8.DecodeLastRuneInString(s[:i])
	return n > 0 && wordRune(r)
}
