// Package inbox shows the open approval requests of a conversation, one at a time, and turns keys
// into answers. What keys mean, how scopes, forms and choices work, and what is saved is the same
// as in a one-shot run: each question has a [question.Asker] on a [term.Dialog].
//
//	conversation.State.Questions ──Set──► Inbox ◄──Press── keys, while it is focused
//	                                       │ │
//	                      lines ◄──View────┘ └──Answers──► daemon/client.Decide ──error──► Failed
//
// Nothing is answered by mistake:
//   - the loop gives keys to the inbox only while it has the focus, and focuses it only while the
//     input box is empty;
//   - a question that has just appeared takes no answer for half a second. Press then ignores
//     letters, so that the loop gives them to the input box;
//   - a question that is longer than its view takes no answer until the user has seen its end.
//
// The package does no I/O except that an answer can save a rule in the settings.
package inbox

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose/saverule"
	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
	"github.com/holdfast-dev/holdfast/internal/term/keymap"
)

const (
	// guard is how long a question is shown before a key can answer it.
	guard = 500 * time.Millisecond
	// noticeTime is how long a notice is shown if the user presses no key.
	noticeTime = 8 * time.Second
	// maxUnsent is how many answers wait in the channel. A key makes at most one.
	maxUnsent = 64
)

// Inbox holds the open questions. It is not safe for concurrent use.
type Inbox struct {
	Keys *keymap.Map // for hints

	p       *command.Program
	save    saverule.Target
	answers chan Answer

	list    []*entry
	current *entry // that View shows; nil if there is nothing to answer
	focused bool
	seen    sight // what the last View showed
	notice  string
	until   time.Time                  // when the notice disappears
	done    map[string]approval.Answer // by approval; what Resolved reported
}

// Answer is the answer to an approval request.
type Answer struct {
	ID     string // of the approval request
	Digest string // of what was shown
	Saved  string // what the answer has saved in the settings, or ""
	approval.Answer
}

// entry is an open question.
type entry struct {
	q      conversation.Question
	own    *interview      // a question of the program instead of q, or nil
	dialog *term.Dialog    // nil until the question is shown
	result approval.Answer // when the dialog has ended
	saved  string          // what the answer has saved
	err    error
	line   *edit.Editor // for the line that the dialog needs
	sent   bool         // the answer is on its way
	began  bool         // the user has pressed a key
	note   string       // why the last answer did not count

	offset int  // the first line that is shown
	read   bool // the user has seen the end
	lines  cache
}

// sight is a question as the user sees it. Another question, or the next one of the same request,
// is a new sight.
type sight struct {
	entry     *entry
	questions int
	since     time.Time
}

// New returns an empty inbox. Rules are saved in the settings of save.
func New(p *command.Program, save saverule.Target) *Inbox {
	return &Inbox{p: p, save: save, answers: make(chan Answer, maxUnsent), done: map[string]approval.Answer{}}
}

// SaveIn sets the settings in which rules are saved, for the questions that are added later.
func (i *Inbox) SaveIn(t saverule.Target) { i.save = t }

// Close ends the dialogs.
func (i *Inbox) Close() {
	for _, e := range i.list {
		if e.dialog != nil {
			e.dialog.Close()
		}
	}
	i.list, i.current = nil, nil
}

// Answers returns the answers that the user has given. The program sends them to the daemon, and
// reports an error with [Inbox.Failed].
func (i *Inbox) Answers() <-chan Answer { return i.answers }

// Len returns how many questions wait for an answer.
func (i *Inbox) Len() int { return len(i.open()) }

// Focused reports whether the inbox has the focus: it has a question and the program gave it the
// focus.
func (i *Inbox) Focused() bool { return i.focused && i.current != nil }

// Focus gives or takes the focus. A question that gets the focus is new for the user.
func (i *Inbox) Focus(on bool) {
	if i.focused != on {
		i.focused, i.seen = on, sight{}
	}
}

// Editing reports whether the user writes a line, such as the reason of a denial.
func (i *Inbox) Editing() bool { return i.Focused() && i.current.needs() == term.NeedsLine }

// Set replaces the questions by those that are open now. A question that is gone is withdrawn.
func (i *Inbox) Set(list []conversation.Question) {
	var fresh []*entry
	for _, e := range i.list {
		if e.own != nil {
			fresh = append(fresh, e)
		}
	}
	for _, q := range list {
		at := slices.IndexFunc(i.list, func(e *entry) bool { return e.own == nil && e.q.ID == q.ID && e.q.Digest == q.Digest })
		if at < 0 {
			fresh = append(fresh, &entry{q: q})
		} else {
			fresh = append(fresh, i.list[at])
		}
	}
	for _, e := range fresh {
		e.lines.text = nil // the number of the question can change
	}
	before := i.list
	i.list = fresh
	for at, e := range before {
		if slices.Contains(fresh, e) {
			continue
		}
		if e.dialog != nil {
			e.dialog.Close()
		}
		i.withdrawn(e)
		if e == i.current {
			i.current = nil
			for _, next := range before[at:] { // the place in the list stays
				if slices.Contains(i.open(), next) {
					i.current = next
					break
				}
			}
		}
	}
	i.ensureCurrent()
}

// withdrawn tells the user about a question that was closed by something else than an own answer.
func (i *Inbox) withdrawn(e *entry) {
	a, known := i.done[e.q.ID]
	delete(i.done, e.q.ID)
	switch {
	case e.sent && (!known || a.Decision == e.result.Decision), !known && e != i.current:
	case !known:
		i.tell(e.name() + " is withdrawn")
	default:
		i.tell(e.name() + " answered by " + who(a) + ": " + decisionText(a))
	}
}

// Resolved reports an answer that is in effect, from anywhere. The program calls it before the Set
// without the question.
func (i *Inbox) Resolved(a approval.Answer) {
	if slices.ContainsFunc(i.list, func(e *entry) bool { return e.q.ID == a.RequestID }) {
		i.done[a.RequestID] = a
	}
}

// Failed reports that an answer was not accepted. If the question is still open, it is asked again.
func (i *Inbox) Failed(id string, err error) {
	for _, e := range i.list {
		if e.q.ID == id {
			e.restart()
			e.note = "not answered: " + err.Error()
			i.seen = sight{}
			i.ensureCurrent()
			return
		}
	}
	i.tell("not answered: " + err.Error())
}

func (i *Inbox) tell(text string) {
	i.notice, i.until = term.EscapeStrict(term.OneLine(text)), i.p.Clock().Add(noticeTime)
}

// NoticeEnds returns when a notice disappears, or the zero time.
func (i *Inbox) NoticeEnds() time.Time {
	if i.notice == "" {
		return time.Time{}
	}
	return i.until
}

// open returns the questions without an answer.
func (i *Inbox) open() (list []*entry) {
	for _, e := range i.list {
		if !e.sent {
			list = append(list, e)
		}
	}
	return list
}

// ensureCurrent makes a question current if none is.
func (i *Inbox) ensureCurrent() {
	if open := i.open(); !slices.Contains(open, i.current) {
		i.current = nil
		if len(open) > 0 {
			i.current = open[0]
		}
	}
}

// move makes the next (+1) or the previous (-1) question current.
func (i *Inbox) move(step int) {
	open := i.open()
	n := len(open)
	i.current = open[(slices.Index(open, i.current)+step+n)%n]
}

// start begins the dialog of a question.
func (i *Inbox) start(e *entry) {
	if e.dialog != nil {
		return
	}
	style := term.Style{Color: i.p.Err.Color, Width: 80}
	e.dialog = term.NewDialog(style, func(p *term.Prompter) {
		a := question.AskerOn(i.p, p)
		if e.own != nil {
			e.own.ask(a)
			return
		}
		a.EnableSaving(i.p.Environment(), i.save)
		e.result, e.err = a.Ask(context.Background(), e.q.Request) // Close ends it
		e.saved = a.Saved()
	})
	i.afterKey(e)
}

// restart asks a question from its beginning.
func (e *entry) restart() {
	if e.dialog != nil {
		e.dialog.Close()
	}
	*e = entry{q: e.q, own: e.own}
}

func (e *entry) needs() term.Need {
	if e.dialog == nil {
		return term.Ended
	}
	return e.dialog.Needs()
}

// afterKey looks at what a dialog needs after a key.
func (i *Inbox) afterKey(e *entry) {
	e.lines = cache{}
	switch e.needs() {
	case term.NeedsLine:
		e.line = edit.New(nil)
	case term.NeedsKey:
		e.line = nil
	case term.Ended:
		if e.own != nil {
			i.endInterview(e)
			return
		}
		if e.err != nil {
			e.note = "cannot be asked here: " + e.err.Error() + "; hint: holdfast approvals show " + e.q.ID
			return
		}
		e.sent = true
		i.answers <- Answer{ID: e.q.ID, Digest: e.q.Digest, Answer: e.result, Saved: e.saved}
		i.ensureCurrent()
	}
}

// name names a question in a few words.
func (e *entry) name() string {
	if e.own != nil {
		return e.own.name
	}
	return cmp.Or(e.q.Tool, "a question") + " " + term.Truncate(question.Subject(e.q.Request), 40)
}

func who(a approval.Answer) string {
	s := cmp.Or(a.Actor, "an unknown user")
	if a.Via != "" {
		s += " (" + a.Via + ")"
	}
	return s
}

func decisionText(a approval.Answer) string {
	s := string(a.Decision)
	if a.Message != "" {
		s += ", " + a.Message
	}
	return s
}
