package live

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/docgen"
)

// The golden frames show what the terminal has after each step of a conversation.
func TestGolden(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {60, 20}} {
		term := newTerminal(size[0], size[1])
		s := newScreen(term)
		rule := strings.Repeat("─", size[0])
		var out strings.Builder
		step := func(name string, lines ...string) {
			draw(t, s, &Position{2, len(lines) + 1}, append(lines, rule, "> ", rule, "opus · default · 12% of context")...)
			fmt.Fprintf(&out, "== %s: %d bytes\n%s\n", name, len(term.last), strings.Join(term.rows(), "\n"))
		}
		step("first start")
		s.Print("> explain 日本語", "")
		step("question")
		step("streaming", "The word \x1b[1m日本語\x1b[m means")
		step("streaming goes on", "The word \x1b[1m日本語\x1b[m means Japanese 🇯🇵")
		step("second paragraph", "The word \x1b[1m日本語\x1b[m means Japanese 🇯🇵.", "", "It is")
		s.Print("The word \x1b[1m日本語\x1b[m means Japanese 🇯🇵.", "")
		step("the first paragraph is finished", "It is written with three characters.")
		s.Print("It is written with three characters.", "", "\x1b[32m●\x1b[m Read \x1b]8;;file:///a/b.go\x1b\\a/b.go\x1b]8;;\x1b\\ "+strings.Repeat("long ", 18))
		step("a tool call wraps", "· working 1 s")
		step("timer", "· working 2 s")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "== closed: %d bytes\n%s\n", len(term.last), strings.Join(term.rows(), "\n"))

		file := fmt.Sprintf("testdata/%dx%d.txt", size[0], size[1])
		docgen.Golden(t, file, out.String())
	}
}
