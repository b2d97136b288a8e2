// Package render draws the parts of a conversation as lines of a terminal.
//
//	conversation.Block ──Block──► lines, printed once into the scrollback; Full: all of it, for the pager
//	conversation.State ──Live───► lines of the live block, redrawn until they change
//	                     Status, Context, Banner: what is around them
//
// All functions are pure: the same input gives the same lines. No line is wider than the given width, which counts as
// at least 20. A line has no escape sequences except colors and links of this project; everything that a model, a tool
// or a file wrote is escaped. Meaning is never in a color alone.
//
// Text that is written from right to left is left as it is: characters that would isolate it stay in what a user
// copies, and many terminals give them a width. Characters that change the direction are shown as escapes.
package render

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/markdown"
	"github.com/holdfast-dev/holdfast/internal/term/keymap"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
)

// Renderer says what the terminal can show.
type Renderer struct {
	Style      markdown.Style
	Light      bool        // the background is light
	Keys       *keymap.Map // for hints
	Hyperlinks bool        // the terminal knows OSC 8
	ASCII      bool        // the locale is not UTF-8: the signs are ASCII
	Sides      string      // "side": diffs in two columns; "unified": in one; otherwise by the width
	Plain      bool        // for screen readers: words instead of signs, and no escape sequences
	Cwd        string      // it is left out of paths
	Me         string      // the user of this terminal, as in [conversation.Block.By]; who did something is left out if it was this user
}

// ASCIILocale reports whether the environment names a locale whose characters are not UTF-8.
func ASCIILocale(env func(string) string) bool {
	locale := strings.ToLower(cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG")))
	return locale != "" && !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
}

// Markdown returns the options for the answers of the model, which are printed while they arrive.
func (r *Renderer) Markdown() *markdown.Options {
	p := r.palette()
	return &markdown.Options{Style: p.Style, Light: p.Light, Hyperlinks: r.Hyperlinks && p.Style != markdown.Plain}
}

// Stream returns the stream for an answer that arrives.
func (r *Renderer) Stream() *markdown.Stream { return markdown.New(r.Markdown()) }

// Dim and Warn color a safe line; Warn also marks it.
func (r *Renderer) Dim(line string) string { return r.paint(paint.Dim, line) }
func (r *Renderer) Warn(line string) string {
	return r.sign(paint.Warn, "!", "Warning:") + r.paint(paint.Warn, line)
}

// Rule returns the line above and below the input box.
func (r *Renderer) Rule(width int) string {
	if r.Plain {
		return ""
	}
	return r.finish([]string{r.paint(paint.Dim, strings.Repeat("─", max(width, 0)))}, width)[0]
}

// Prompt returns the sign before the input.
func (r *Renderer) Prompt() string {
	if r.Plain {
		return "> "
	}
	return r.paint(paint.Accent, ">") + " "
}

func (r *Renderer) palette() paint.Palette {
	if r.Plain {
		return paint.Palette{}
	}
	return paint.Palette{Style: r.Style, Light: r.Light}
}

func (r *Renderer) paint(role paint.Role, text string) string { return r.palette().Paint(role, text) }

// sign returns a sign, or the words for it in the plain form.
func (r *Renderer) sign(role paint.Role, sign, words string) string {
	if r.Plain {
		return words + " "
	}
	return r.paint(role, sign) + " "
}

// toASCII replaces the signs of this package and of its Markdown. The replacements are as wide as the signs.
var toASCII = strings.NewReplacer(
	"▌", "|", "●", "*", "✗", "x", "⊘", "!", "✓", "+", "…", "~", "·", "-", "─", "-", "│", "|", "┼", "+", "├", "|", "└", "`",
	"☐", ".", "◐", ">", "☑", "x", "⏎", ">", "✻", "*", "▰", "#", "▱", "-", "⋮", ":", "↪", ">", "•", "*", "◦", "-", "■", "#", "↑", "^", "▉", "#", "░", ".", "○", "o",
)

// finish makes sure that no line is too wide.
func (r *Renderer) finish(lines []string, width int) []string {
	width = max(width, minWidth)
	for i, l := range lines {
		if r.ASCII {
			l = toASCII.Replace(l)
		}
		if paint.Width(l) > width {
			l = paint.Clip(l, width)
		}
		lines[i] = l
	}
	return lines
}

const minWidth = 20

// indented puts first before the first line and spaces of the same width before the others.
func indented(first string, lines []string) []string {
	rest := strings.Repeat(" ", paint.Width(first))
	for i, l := range lines {
		switch {
		case i == 0:
			lines[i] = first + l
		case l != "":
			lines[i] = rest + l
		}
	}
	return lines
}

// more says how many lines are not shown.
func (r *Renderer) more(n int) string {
	lines := "lines"
	if n == 1 {
		lines = "line"
	}
	if r.Plain {
		return fmt.Sprintf("%d more %s, /transcript shows them", n, lines)
	}
	return r.paint(paint.Dim, fmt.Sprintf("… %d more %s (%s)", n, lines, r.Keys.Label("chat.transcript")))
}

// Gap reports whether an empty line separates two blocks. A call in one line needs none after another one.
func (r *Renderer) Gap(before, b *conversation.Block) bool {
	if before == nil {
		return false
	}
	switch b.Kind {
	case conversation.Note, conversation.Answered:
		return before.Kind != conversation.Note && before.Kind != conversation.Answered && before.Kind != conversation.Ended && !(before.Kind == conversation.Called && !r.hasBody(before.Call))
	case conversation.Ended:
		return before.Kind != conversation.Note && before.Kind != conversation.Ended
	case conversation.Called:
		return before.Kind != conversation.Answered && (before.Kind != conversation.Called || r.hasBody(before.Call) || r.hasBody(b.Call))
	}
	return true
}
