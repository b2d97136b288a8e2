package chat

import (
	"strings"
	"testing"
)

// At no width, /help breaks a word that fits.
func TestHelpKeepsWords(t *testing.T) {
	x := talk(t, "steps: [{text: Hello.}]", nil)
	x.u.help("")
	words := map[string]bool{}
	for _, w := range strings.Fields(x.u.page.Text()) {
		words[w] = true
	}
	for width := 20; width < 130; width++ {
		x.u.page.View(width, 20)
		for _, w := range strings.Fields(x.u.page.Text()) {
			if !words[w] && width > len("  [auto|light|dark|plain]") {
				t.Errorf("at %d columns: %q", width, w)
			}
		}
	}
}
