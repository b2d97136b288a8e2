package chat

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/chat/files"
	"github.com/holdfast-dev/holdfast/internal/cli/chat/inbox"
	"github.com/holdfast-dev/holdfast/internal/cli/chat/render"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/markdown"
	"github.com/holdfast-dev/holdfast/internal/runtext"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
	"github.com/holdfast-dev/holdfast/internal/term/keymap"
	"github.com/holdfast-dev/holdfast/internal/term/pager"
	"github.com/holdfast-dev/holdfast/policy"
)

// ui is the conversation on a terminal, without the terminal: it gets keys and events, and returns
// finished rows and the live block. Only one goroutine uses it.
type ui struct {
	p     *command.Program
	ctx   context.Context
	end   context.CancelFunc // ends ctx
	now   func() time.Time
	start *Start
	s     *Session // nil until it is open
	err   error    // why it could not be opened

	conv         *conversation.Conversation
	blocks       []*conversation.Block // the newest, for the pager and for copies
	look         *render.Renderer
	box          *edit.Editor
	keys         *keymap.Map // that the user has chosen
	inbox        *inbox.Inbox
	answer       *markdown.Stream    // the message that the model writes, or nil
	shown        bool                // rows of answer were printed
	thought      string              // thinking before the answer, as far as it was written
	last         *conversation.Block // that was printed last
	beforeAnswer *conversation.Block // that was printed before the answer

	page   *pager.Pager // covers the screen, or nil
	picker *picking     // takes the keys, or nil
	popup  *popup       // completions of the word before the cursor, or nil
	asked  int          // open questions at the last look
	away   bool         // the user does not want to answer now
	wanted bool         // the user wants to answer before the text in the box is sent

	opening  bool           // the session of the conversation is being found
	sent     func()         // is called when no message and no mode waits any more, or nil
	pending  int            // pieces of work outside of the loop that have not returned
	borrow   func()         // needs the terminal for itself, or nil
	unfollow func()         // ends the stream of events
	follows  sync.WaitGroup // the goroutines that read it
	cwd      string
	around   surroundings
	status   *statusCommand // makes the status line, or nil
	terminal settings.Terminal
	shade    string // of the terminal's background: light, dark, or "" if it is not known
	started  time.Time
	windows  map[string]int // tokens, by model
	unsaved  []edit.Entry   // typed before the session was open, for the history
	history  *edit.History
	files    *files.Index // nil until the first @
	mention  bool         // the word before the cursor begins with @, and its list is wanted
	walking  bool         // a change of files is awaited
	own      *ownCommand  // that runs now, or nil
	notify   *notifier
	cli      func(ctx context.Context, args ...string) (string, error) // runs a command of this program and returns what it prints
	focused  bool                                                      // the terminal has the focus
	events   chan func()                                               // what the stream of events does

	name     string               // of the user, as the daemon knows it
	mode     policy.Mode          // that the user has chosen for the next run, or ""
	seenMode policy.Mode          // of the session at the last look
	chosen   []policy.Mode        // that the user has chosen here and whose records have not come
	modes    []modeChange         // that the session does not have yet
	model    string               // of the next messages, that the user has chosen, or ""
	waiting  []message            // messages that were not accepted yet
	sending  bool                 // the first of waiting is being sent
	early    []string             // what was typed before the session was open or entered
	typed    []string             // messages that the terminal has shown already, while they were typed
	context  []string             // output of the user's own commands for the next message
	tip      string               // a line below the box until the next key
	pressed  map[string]time.Time // when keys that count twice were pressed

	compacting bool // another process has the session

	past    past     // what was printed
	full    bool     // the conversation has the whole screen
	mouse   bool     // the program has the mouse
	rows    []string // finished rows that were not printed yet
	printed bool     // what is read was printed before
	done    chan func()
	leaving bool
	width   int
	height  int

	labels    attachments
	clipboard func(ctx context.Context) (image []byte, err error)
}

// later runs work that waits outside of the loop. What it returns runs in the loop, or in close.
func (u *ui) later(work func(ctx context.Context) func()) {
	u.pending++
	go func() {
		then := work(u.ctx)
		u.done <- func() { u.pending--; then() }
	}()
}

// try runs work outside of the loop and shows its error.
func (u *ui) try(what string, work func(ctx context.Context) error) {
	u.later(func(ctx context.Context) func() {
		err := work(ctx)
		return func() {
			if err != nil {
				u.fail(what, err)
			}
		}
	})
}

// apply takes an event of the session.
func (u *ui) apply(e *client.Event) {
	for _, ev := range e.Events {
		if seq, ok := ev.(event.TerminalSequences); ok && e.CaughtUp || ok && u.conv.State().CaughtUp {
			u.notify.pass(seq.Sequences)
		}
	}
	u.update(u.conv.Apply(e))
	if m := u.conv.State().Mode; m != u.seenMode && len(u.modes) == 0 { // a change by anyone is newer than the choice here
		u.seenMode, u.mode = m, ""
	}
	if e.CaughtUp {
		u.printed = false
		u.askOpen()
		if e.Status == "" && u.conv.State().Working {
			u.askHolder()
		}
	}
	if st := u.conv.State(); st.CaughtUp { // an older question can be answered in a later record
		u.inbox.Set(st.Questions)
	}
	u.focus()
}

// update shows what has changed in the conversation.
func (u *ui) update(list []conversation.Update) {
	for _, up := range list {
		if up.Rewound {
			u.blocks = slices.DeleteFunc(u.blocks, func(b *conversation.Block) bool { return b.Seq > up.After })
		}
		switch {
		case up.Discard:
			u.discard()
		case up.Block != nil:
			u.finish(up.Block, up.Streamed)
		case up.Agent != "": // the tree shows sub-agents
		case up.Kind == conversation.Thinking && u.answer == nil:
			u.thought += up.Delta
		case up.Kind == conversation.Answer:
			if u.answer == nil {
				u.printThought()
				u.answer, u.shown, u.beforeAnswer = u.look.Stream(), false, u.last
			}
			u.answer.Write(up.Delta)
		}
	}
}

// askHolder looks whether a process still works in the session, if its log does not say so.
func (u *ui) askHolder() {
	conv, id := u.conv, u.s.ID()
	u.later(func(ctx context.Context) func() {
		m, err := u.s.Client().Session(ctx, id)
		return func() {
			if err == nil && m.HeldBy == nil && u.conv == conv {
				u.update(conv.Crashed())
			}
		}
	})
}

// askOpen adds the open questions from before the records that were read.
func (u *ui) askOpen() {
	conv, id := u.conv, u.s.ID()
	u.later(func(ctx context.Context) func() {
		page, err := u.s.Client().Approvals(ctx, client.ListOptions{Limit: 500})
		return func() {
			if err != nil || u.conv != conv {
				return // the events report a lost connection
			}
			for _, a := range page.Items {
				if a.Session == id || a.RunID == id {
					conv.Ask(a.Request)
				}
			}
			u.inbox.Set(conv.State().Questions)
			u.focus()
		}
	})
}

// discard drops the message that the model was writing.
func (u *ui) discard() {
	if u.answer != nil && u.shown {
		u.printRows(true, u.answer.Close(u.width))
		u.past.settle(false)
		u.note("the answer above broke off and begins again")
	}
	u.answer, u.thought = nil, ""
}

// printThought prints the thinking that comes before the answer, because rows of the answer can be printed before the
// block of the thinking is there.
func (u *ui) printThought() {
	if u.thought != "" {
		u.printBlock(&conversation.Block{Kind: conversation.Thinking, Text: u.thought})
	}
}

// keptBlocks is how many blocks stay in memory. The pager reads older ones from the log.
const keptBlocks = 500

// finish prints a block.
func (u *ui) finish(b *conversation.Block, streamed bool) {
	if u.blocks = append(u.blocks, b); len(u.blocks) > 2*keptBlocks {
		u.blocks = append([]*conversation.Block(nil), u.blocks[keptBlocks:]...)
	}
	if b.Kind == conversation.Answered && b.Reply != nil {
		u.inbox.Resolved(*b.Reply)
	}
	if b.Kind == conversation.User {
		u.labels.see(b.Text)
	}
	switch {
	case b.Agent != "" && b.Kind != conversation.Answered: // the tree shows sub-agents
		return
	case b.Kind == conversation.Thinking && streamed && u.answer != nil: // it is printed
		return
	case b.Kind == conversation.Answer && streamed && u.answer != nil:
		u.rows = append(u.rows, u.answerRows(u.answer.Close(u.width))...)
		u.past.settle(true)
		u.last = u.beforeAnswer
		u.pastBlock(b)
		u.answer, u.thought, u.last = nil, "", b
		return
	case u.ownDecision(b):
		return
	}
	if b.Kind != conversation.Note {
		u.thought = ""
	}
	u.printBlock(b)
}

// ownDecision reports whether a block says only what the user has done here: the call, or the status line, shows it.
func (u *ui) ownDecision(b *conversation.Block) bool {
	switch b.Kind {
	case conversation.Answered:
		a := b.Reply
		return b.Agent == "" && a != nil && a.SaveTo == "" && u.look.IsMe(a.Actor, a.Via) && (b.Request == nil || b.Request.Asker == "")
	case conversation.Note:
		at := slices.IndexFunc(u.chosen, func(m policy.Mode) bool { return b.Text == runtext.PolicyChanged(policy.Change{Mode: m, By: u.name}) })
		if at >= 0 {
			u.chosen = u.chosen[at+1:]
		}
		return at >= 0
	}
	return false
}

// answerRows returns rows of the message with an empty row before its first one.
func (u *ui) answerRows(rows []string) []string {
	if len(rows) > 0 && !u.shown {
		u.shown = true
		if u.look.Plain {
			rows = append([]string{"Assistant:"}, rows...)
		}
		if u.look.Gap(u.last, &conversation.Block{Kind: conversation.Answer}) {
			rows = append([]string{""}, rows...)
		}
	}
	return rows
}

// note prints a line of the program.
func (u *ui) note(text string) {
	u.printBlock(&conversation.Block{Kind: conversation.Note, Text: text})
}

// say shows a line below the box until the next key.
func (u *ui) say(text string) { u.tip = text }

// fail prints an error with its hint.
func (u *ui) fail(what string, err error) {
	u.printed = false
	text := errorText(err)
	if what != "" {
		text = what + ": " + text
	}
	u.printBlock(&conversation.Block{Kind: conversation.Note, Text: text, Warning: true})
}

// focus gives the keys to the inbox while a question waits and the user writes nothing. Ctrl-G takes them away
// until another question comes, or gives them to the inbox although the box has text.
func (u *ui) focus() {
	if n := u.inbox.Len(); n != u.asked {
		u.asked, u.away, u.wanted = n, false, u.wanted && n > 0
	}
	u.inbox.Focus(u.inbox.Len() > 0 && (u.box.Empty() || u.wanted) && !u.box.Searching() && !u.away)
}

// currentMode returns the mode of the working run, or of the next one.
func (u *ui) currentMode() policy.Mode {
	return cmp.Or(u.mode, u.conv.State().Mode, policy.ModeDefault)
}

// twice reports whether a key was pressed for the second time within a second.
func (u *ui) twice(key string) bool {
	at, now := u.pressed[key], u.now()
	clear(u.pressed)
	if !at.IsZero() && now.Sub(at) <= time.Second {
		return true
	}
	u.pressed[key] = now
	return false
}

// paste takes pasted text.
func (u *ui) paste(text string) {
	switch {
	case u.page != nil:
		u.page.Paste(text)
	case u.picker != nil:
		u.picker.Paste(text)
	case u.inbox.Focused() && u.inbox.Paste(text) != edit.Ignored:
	default:
		if mention, ok := files.Dropped(text, u.cwd); ok { // a file that was dragged to the terminal
			if u.attachMention(-1, mention) {
				break
			}
			text = mention
		}
		u.box.Paste(text)
		u.complete()
	}
	u.focus()
}

// key takes a key.
func (u *ui) key(k edit.Key) {
	u.tip = ""
	defer u.focus()
	switch {
	case u.page != nil:
		u.pageKey(k)
		return
	case u.picker != nil:
		u.pickKey(k)
		return
	case u.inbox.Focused() && u.inbox.Press(k) != edit.Ignored:
		return
	case u.popup != nil && u.popupKey(k):
		return
	case k.Name == "esc" && !(u.box.Empty() && u.conv.State().Working) && u.box.Press(k) != edit.Ignored: // it ends a search, or the insert mode of vi
		return
	}
	if !u.box.Searching() && u.command(k) {
		return
	}
	switch u.box.Press(k) {
	case edit.Submit:
		u.submit()
	case edit.Handled:
		if u.box.Mode() == "normal" {
			u.closePopup()
		} else {
			u.complete()
		}
	case edit.Ignored:
		u.command(k) // a key that has ended a search
	}
}

// command runs the command of a key that is not for the box.
func (u *ui) command(k edit.Key) bool {
	st := u.conv.State()
	ctrl := rune(0)
	if k.Ctrl && !k.Alt {
		ctrl = k.Code
	}
	switch {
	case ctrl == 'c':
		u.cancel()
	case (ctrl == 'd' || k.Name == keymap.Leave) && u.box.Empty():
		u.leave()
	case u.scrollKey(k):
	case ctrl == 'o':
		u.openTranscript()
	case ctrl == 'v':
		u.pasteImage()
	case ctrl == 'x':
		u.editBox()
	case ctrl == 'l':
		u.rows = append(u.rows, clearScreen)
	case ctrl == 'g' && u.inbox.Focused():
		u.away, u.wanted = true, false
	case ctrl == 'g':
		u.away, u.wanted = false, true
	case k.Name == "tab" && k.Shift:
		u.nextMode()
	case k.Name == "esc" && u.own != nil && !st.Working:
		u.own.end()
	case k.Name == "esc" && st.Working:
		u.interrupt()
	case k.Name == "esc" && !u.box.Empty():
		if u.twice("esc") {
			u.box.Clear()
		} else {
			u.say("press esc again to clear the box")
		}
	case k.Name == "esc":
		if u.twice("esc") {
			u.openRewind()
		} else {
			u.say("press esc again to go back to an earlier message")
		}
	case k.Name == "up" && u.box.Empty() && len(st.Queue) > 0:
		u.takeBack(st.Queue[len(st.Queue)-1])
	default:
		return false
	}
	return true
}

// cancel is ctrl-c: it clears the box, then interrupts, then leaves.
func (u *ui) cancel() {
	switch {
	case !u.box.Empty():
		u.popup = nil
		u.box.Clear()
		u.say("cleared; " + u.keys.Label("editor.undo") + " brings it back")
	case u.own != nil:
		u.own.end()
	case u.twice("ctrl-c"):
		u.leave()
		u.leaving = true // a run in this program was interrupted by the first one
	case u.conv.State().Working:
		u.say("interrupting; press ctrl-c again to leave")
		u.interrupt()
	default:
		u.say("press ctrl-c again, or " + u.keys.Label("chat.leave") + ", to leave")
	}
}

// submit sends what is in the box.
func (u *ui) submit() {
	text := strings.TrimSpace(u.box.Text())
	if text == "" {
		if st := u.conv.State(); len(st.Queue) > 0 && !st.Working && u.s != nil { // it stayed when the agent was interrupted
			u.try("continue", u.s.Resume)
		}
		return
	}
	u.closePopup()
	if u.past.page != nil {
		u.past.page.Press(edit.Key{Name: "end"})
	}
	u.perform(text, u.remember)
}

// perform runs a command or sends a message, and before it calls remember.
func (u *ui) perform(text string, remember func()) {
	if text[0] == '/' && u.slash(text, remember) {
		return
	}
	remember()
	switch {
	case u.opening && (u.s != nil || len(u.early) > 0): // it is for the session that is entered, or after a command that waits
		u.early = append(u.early, text)
	case text[0] == '!' && len(text) > 1:
		u.shell(strings.TrimSpace(text[1:]))
	case text[0] == '#' && len(text) > 1 && text[1] != '#' && !strings.Contains(text, "\n"): // otherwise it is Markdown
		u.memorize(strings.TrimSpace(text[1:]))
	default:
		u.send(text)
	}
}
