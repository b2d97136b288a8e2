package chat

import (
	"encoding/base64"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/terminalseq"
)

// notifier tells the user through the terminal that the agent waits: by the window's title, a
// notification and the bell.
type notifier struct {
	kind          string // the notification that the terminal knows: 9, 99 or 777; "" for the bell alone
	off           bool
	quiet, silent bool   // the user wants no notification, no bell
	title         string // as it was set last
	asked         int    // open questions at the last notification
	busy          bool   // the agent worked at the last look
	said          string // sequences that were not written yet
}

// newNotifier finds out what the terminal knows.
func newNotifier(env func(string) string) *notifier {
	n := &notifier{off: env("TERM") == "dumb" || env("TERM") == "linux"}
	program := env("TERM_PROGRAM")
	switch {
	case env("TMUX") != "" || strings.HasPrefix(env("TERM"), "screen"): // does not pass them on
	case env("KITTY_WINDOW_ID") != "":
		n.kind = "99"
	case program == "iTerm.app" || program == "WezTerm" || program == "ghostty" || env("WT_SESSION") != "":
		n.kind = "9"
	case env("VTE_VERSION") != "" || strings.HasPrefix(env("TERM"), "foot") || strings.HasPrefix(env("TERM"), "rxvt"):
		n.kind = "777"
	}
	return n
}

// look compares the state with the last one and notes what to tell.
func (n *notifier) look(title string, questions int, busy, focused bool) {
	if n.off {
		return
	}
	mark := ""
	switch {
	case questions > 0:
		mark = "? "
	case busy:
		mark = "* "
	}
	if title = mark + clean(title); title != n.title {
		n.title = title
		n.said += "\x1b]2;" + title + "\x07"
	}
	if !focused {
		switch {
		case questions > n.asked:
			n.tell("Holdfast asks you: " + clean(title))
		case n.busy && !busy && questions == 0:
			n.tell("Holdfast is done: " + clean(title))
		}
	} else if questions > n.asked {
		n.ring()
	}
	n.asked, n.busy = questions, busy
}

func (n *notifier) tell(text string) {
	kind := n.kind
	if n.quiet {
		kind = ""
	}
	switch kind {
	case "9":
		n.said += "\x1b]9;" + text + "\x07"
	case "99":
		n.said += "\x1b]99;;" + text + "\x1b\\"
	case "777":
		n.said += "\x1b]777;notify;Holdfast;" + text + "\x07"
	}
	n.ring()
}

func (n *notifier) ring() {
	if !n.silent {
		n.said += "\x07"
	}
}

// pass passes on the sequences of hooks that a terminal may get.
func (n *notifier) pass(sequences []string) {
	for _, s := range sequences {
		if !n.off && terminalseq.Safe(s) {
			n.said += s
		}
	}
}

// take returns the sequences to write.
func (n *notifier) take() string {
	out := n.said
	n.said = ""
	return out
}

// clean makes a text safe for a title: one line without control characters and semicolons.
func clean(s string) string {
	return strings.ReplaceAll(term.EscapeStrict(term.OneLine(s)), ";", ",")
}

// copyText puts a text into the clipboard. Terminals that do not allow it ignore the sequence.
func (n *notifier) copyText(text string) {
	n.said += "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\x07"
}
