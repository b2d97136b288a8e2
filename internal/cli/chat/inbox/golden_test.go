package inbox

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/docgen"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

func edited() approval.Request {
	q := bash("edit", "")
	q.Tool, q.Agent, q.Scopes = "Edit", "reviewer", []approval.Scope{{Text: "exactly this change"}}
	q.Requests = []policy.Request{{
		Tool: "Edit", Operation: policy.OpWrite, Resource: "/home/ann/shop/price.go",
		Display: "--- /home/ann/shop/price.go\n+++ /home/ann/shop/price.go\n@@ -11,4 +11,5 @@\n func total(items []Item) int {\n-\treturn 0\n+\tsum := 0 // the sum of the prices of all items in the cart, in cents\n+\treturn sum\n }\n \n",
	}}
	return q
}

// The golden files show each step of some dialogs in terminals of three widths. A ▏ is the cursor.
func TestGolden(t *testing.T) {
	for _, width := range []int{60, 80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			var got strings.Builder
			for _, tt := range []struct {
				list []approval.Request
				keys []string
			}{
				{[]approval.Request{bash("one", "git push origin main"), edited(), planned()}, []string{"a", "b", "right", "m", "=use the script in bin/, it also runs the tests of all packages, thanks", "enter", "y", "tab"}},
				{[]approval.Request{opening()}, nil},
				{[]approval.Request{choices()}, []string{"1", "c", "=2, 7", "enter", "2"}},
				{[]approval.Request{form()}, []string{"f", "=ann", "enter", "=many", "enter", "=3", "enter"}},
				{[]approval.Request{bash("long", strings.Repeat("echo a line of a long script\n", 40))}, []string{"pgdown", "end"}},
			} {
				synctest.Test(t, func(t *testing.T) {
					u := newUser(t, tt.list...)
					u.width, u.height = width, 24
					show := func(title string) {
						lines, cursor := u.look()
						for n, l := range lines {
							if term.Width(l) > width {
								t.Errorf("%q is wider than %d", l, width)
							}
							if cursor != nil && cursor.Y == n {
								lines[n] = withCursor(l, cursor.X)
							}
						}
						fmt.Fprintf(&got, "── %s\n%s\n\n", title, strings.Join(lines, "\n"))
					}
					show("question")
					for _, k := range tt.keys {
						u.presses(k)
						show(k)
					}
				})
			}
			file := filepath.Join("testdata", fmt.Sprintf("%d.txt", width))
			docgen.Golden(t, file, got.String())
		})
	}
}

func withCursor(line string, column int) string {
	var b strings.Builder
	for _, r := range line + " " {
		if term.Width(b.String()) == column {
			b.WriteRune('▏')
			column = -1
		}
		b.WriteRune(r)
	}
	return strings.TrimRight(b.String(), " ")
}

var colors = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Whatever the user does with whatever questions: answers fit their requests, lines fit the
// terminal and have no control characters but colors.
func TestAnyKeys(t *testing.T) {
	dir := t.TempDir()
	evil := rapid.StringOf(rapid.SampledFrom([]rune("ab  -\n\t\x1b\u202e世👩é\u0301`*#")))
	names := rapid.SampledFrom([]string{
		"y", "a", "p", "u", "n", "d", "m", "s", "e", "b", "c", "o", "f", "1", "2", "3", "x", "世",
		"enter", "esc", "tab", "left", "right", "up", "down", "pgup", "pgdown", "home", "end", "backspace", "space",
	})
	rapid.Check(t, func(rt *rapid.T) {
		list := []approval.Request{bash("one", evil.Draw(rt, "command")), edited(), outside(), opening(), planned(), choices(), form()}
		list[1].Requests[0].Display = evil.Draw(rt, "diff")
		list[0].Scopes = list[0].Scopes[:1] // the rule is for git push
		list[1].Agent = evil.Draw(rt, "agent")
		i := New(newProgram(dir), saveTarget(dir))
		defer i.Close()
		i.p.Err.Color = rapid.Bool().Draw(rt, "color")
		now := time.Now()
		i.p.Clock = func() time.Time { return now }
		i.Focus(true)
		set := func() {
			var open []conversation.Question
			for _, q := range list {
				open = append(open, conversation.Question{Request: q})
			}
			i.Set(open)
		}
		set()
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			width, height := rapid.IntRange(40, 120).Draw(rt, "width"), rapid.IntRange(6, 40).Draw(rt, "height")
			lines, cursor := i.View(width, height, now)
			for _, l := range lines {
				bare := colors.ReplaceAllString(l, "")
				if term.Width(bare) > width || strings.ContainsFunc(bare, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }) {
					rt.Fatalf("at %d columns: %q", width, l)
				}
			}
			if cursor != nil && (cursor.Y >= len(lines) || cursor.X >= width) {
				rt.Fatalf("the cursor %+v is outside", *cursor)
			}
			now = now.Add(guard)
			switch action := rapid.IntRange(0, 20).Draw(rt, "action"); {
			case action == 0 && len(list) > 1:
				i.Resolved(approval.Answer{RequestID: list[0].ID, Decision: approval.Deny, Actor: evil.Draw(rt, "by")})
				list = list[1:]
				set()
			case action == 1:
				i.Paste(evil.Draw(rt, "paste"))
			default:
				i.Press(key(names.Draw(rt, "key")))
			}
			select {
			case a := <-i.Answers():
				for _, q := range list {
					if err := q.Check(a.Answer); q.ID == a.ID && err != nil {
						rt.Fatalf("%+v: %v", a, err)
					}
				}
			default:
			}
		}
	})
}
