package term

import "github.com/charmbracelet/x/ansi"

// Width returns how many columns of a terminal a line of text takes. A wide character takes two, a
// combining mark none, and an emoji of several code points is one character.
func Width(s string) int {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}
