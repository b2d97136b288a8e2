package daemon

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// docs/reference/http.md lists what only a request can come to, each with its numbers, and the
// command line's page does not list it again.
func TestDocumentedCodes(t *testing.T) {
	said := map[string]bool{}
	for _, name := range []string{"http", "commands"} {
		b, err := os.ReadFile("../../docs/reference/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			for _, o := range outcome.Requests() {
				switch {
				case !strings.HasPrefix(line, "|") || !strings.Contains(line, "| `"+o.Code+"` |"):
				case name != "http" || said[o.Code]:
					t.Errorf("docs/%s.md has %s again: %s", name, o.Code, line)
				case !strings.HasPrefix(line, fmt.Sprintf("| `%s` | %d | %d | ", o.Code, o.Status, o.Exit)):
					t.Errorf("docs/reference/http.md: %swant status %d, exit %d", line, o.Status, o.Exit)
				default:
					said[o.Code] = true
				}
			}
		}
	}
	for _, o := range outcome.Requests() {
		if !said[o.Code] {
			t.Errorf("docs/reference/http.md does not have %s: %s", o.Code, o.Meaning)
		}
	}
}
