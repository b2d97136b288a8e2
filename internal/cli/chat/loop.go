package chat

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/cli/chat/clipboard"
	"github.com/holdfast-dev/holdfast/internal/cli/chat/inbox"
	"github.com/holdfast-dev/holdfast/internal/cli/chat/render"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/saverule"
	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/inputlog"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
	"github.com/holdfast-dev/holdfast/internal/term/input"
	"github.com/holdfast-dev/holdfast/internal/term/live"
	"github.com/holdfast-dev/holdfast/internal/version"
)

// converse shows a conversation until the user leaves it. The first frame comes before anything is
// opened.
func converse(ctx context.Context, p *command.Program, start *Start) error {
	u, err := newUI(ctx, p, start)
	if err != nil {
		return err
	}
	defer u.close()
	if start.Screen.Plain {
		return converseInLines(ctx, p, u, start)
	}
	in, out := p.Stdin.(*os.File), p.Stdout.(*os.File)
	keys, err := input.Open(in, out)
	if err != nil {
		return err
	}
	s := &screen{u: u, in: in, out: out, keys: keys}
	if width, height, ok := keys.Size(); ok {
		u.width, u.height = max(width, 20), max(height, 6)
	}
	s.draw = live.New(out, &live.Options{Width: u.width, Height: u.height, Env: p.Env})
	u.begin(start)
	err = s.loop(ctx)
	u.tip = ""
	return errors.Join(err, s.close(), u.ended())
}

// ended returns why there was no session, with the exit code of the error, which is printed.
func (u *ui) ended() error {
	if u.s != nil || u.err == nil {
		return nil
	}
	return command.End(outcome.FromError(u.err))
}

// newUI returns a conversation without a session.
func newUI(ctx context.Context, p *command.Program, start *Start) (*ui, error) {
	home, err := p.Home()
	if err != nil {
		return nil, err
	}
	cwd, err := p.Folder(start.Run.CWD)
	if err != nil {
		return nil, err
	}
	history, err := edit.OpenHistory(filepath.Join(home, inputlog.Name), &edit.HistoryOptions{Mask: maskOf(p, cwd)})
	if err != nil {
		return nil, err
	}
	terminal := preferences(p)
	if on := terminal.Fullscreen.Value; on != nil && *on && !start.Screen.Plain {
		start.Screen.Fullscreen = true
	}
	u := &ui{
		p: p, now: time.Now, cwd: cwd, width: 80, height: 24, focused: true,
		conv:    conversation.New(&conversation.Options{Cwd: cwd}),
		look:    &render.Renderer{Cwd: cwd, Plain: start.Screen.Plain, Hyperlinks: true, ASCII: render.ASCIILocale(p.Getenv)},
		history: history,
		box:     edit.New(&edit.Options{History: history, Placeholder: "ask for something, / for commands, @ for files"}),
		inbox:   inbox.New(p, saverule.Target{Folder: cwd}),
		events:  make(chan func(), 64), done: make(chan func(), 16), pressed: map[string]time.Time{},
		notify: newNotifier(p.Getenv), full: start.Screen.Fullscreen, mouse: start.Screen.Mouse,
	}
	u.notify.off = u.notify.off || start.Screen.Plain
	u.ctx, u.end = context.WithCancel(ctx)
	u.cli, u.clipboard = u.runProgram, (&clipboard.System{OS: runtime.GOOS, Getenv: p.Getenv, Run: clipboard.Run}).Image
	u.started = u.now()
	u.use(terminal)
	return u, nil
}

// maskOf returns the function that masks secrets as the settings of the folder say. It reads them
// when it is called first, outside of the loop.
func maskOf(p *command.Program, cwd string) func(string) string {
	masker := sync.OnceValues(func() (*secret.Masker, error) { return p.Environment().Masker(cwd) })
	return func(text string) string {
		m, err := masker()
		if err != nil {
			return "[not stored: " + err.Error() + "]"
		}
		text, _ = m.Text(text)
		return text
	}
}

// begin prints the banner and opens the session.
func (u *ui) begin(start *Start) {
	banner := &render.Start{
		Version: version.Current().Version, Cwd: u.cwd, Model: cmp.Or(start.Run.Model, u.p.Getenv("HOLDFAST_MODEL")),
		Hints: []string{"/help shows commands and keys", "@ names a file, ! runs your own command"},
	}
	u.printLaidOut(func(width int) []string { return u.look.Banner(banner, width) })
	u.last = &conversation.Block{Kind: conversation.Answer} // an empty row follows
	u.start = start
	if start.Prompt != "" || len(start.Images) > 0 {
		m := message{text: start.Prompt}
		for _, i := range start.Images {
			m.text += " " + u.labels.add(i)
		}
		m.text, m.images = strings.TrimSpace(m.text), start.Images
		u.waiting = append(u.waiting, m)
	}
	u.openSession()
}

// openSession opens the session of the conversation.
func (u *ui) openSession() {
	before := u.err
	u.opening, u.err = true, nil
	u.later(func(ctx context.Context) func() {
		s, err := Open(ctx, u.p, u.start)
		if err == nil && ctx.Err() != nil { // the user has left
			err = errors.Join(ctx.Err(), s.Close())
		}
		var undecided []settings.MCPServer
		seen := false
		if err == nil {
			undecided, _ = s.Undecided(s.at().cwd) // the run reports the error
			seen = u.seenNotices(s.About().Notices)
		}
		return func() {
			u.opening = false
			if err != nil {
				if before == nil || before.Error() != err.Error() {
					u.fail("", err)
				}
				u.err = err
				u.giveBack()
				named := u.start.Attach || u.start.Run.Resume != ""
				u.leaving = u.leaving || named && outcome.FromError(err) == outcome.NotFound
				return
			}
			u.s = s
			u.name = s.Client().Info().Caller.Name
			u.look.Me = u.name + " (cli)"
			if n := s.About().Notice; n.Text != "" {
				u.notice(n)
			}
			u.showNotices(s.About().Notices, seen)
			u.enter("")
			if u.start.Run.Continue && s.ID() == "" {
				u.note("this project has no session yet; your next message begins one")
			}
			if err := s.CheckModel(); err != nil {
				u.fail("", err)
			}
			u.askServers(undecided)
		}
	})
}

// notice prints a notice of the program.
func (u *ui) notice(n env.Notice) { u.note(outcome.WithHint(n.Text, n.Hint)) }

// askServers asks about the MCP servers that the user has not decided about, and then sends what
// waits. Downloads need the terminal for themselves.
func (u *ui) askServers(undecided []settings.MCPServer) {
	ready := func() {
		u.runEarly()
		u.sendWaiting()
	}
	if len(undecided) == 0 {
		ready()
		return
	}
	s, cwd, fetch := u.s, u.cwd, question.FetchAtOnce(u.p, u.s.rules)
	var downloads []func()
	u.inbox.Interview("MCP servers", func(a *question.Asker) {
		list, err := s.Undecided(cwd) // without those that were decided before the user went back
		if err == nil {
			err = question.ApproveServers(u.ctx, u.p, a, s.rules, list, func(ctx context.Context, srv *settings.MCPServer, registry string) {
				downloads = append(downloads, func() { fetch(ctx, srv, registry) })
			})
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			u.fail("MCP servers", err)
		}
	}, func() {
		if len(downloads) == 0 {
			ready()
			return
		}
		u.borrow = func() {
			for _, download := range downloads {
				download()
			}
			ready()
		}
	})
	u.focus()
}

// join makes another session that of the conversation; the empty id begins a new one. Messages and
// modes from before go to the old session, and what is typed now waits for the new one. After a fork, what was
// printed stays valid. At the end, join calls then, if there is one.
func (u *ui) join(fork bool, find func(ctx context.Context) (id string, err error), then func()) {
	u.opening = true
	if len(u.waiting) > 0 || len(u.modes) > 0 {
		u.sent = func() { u.join(fork, find, then) }
		return
	}
	s, cwd := u.s, u.cwd
	u.later(func(ctx context.Context) func() {
		id, err := find(ctx)
		var to *place
		if err == nil {
			to, err = s.Find(ctx, id)
		}
		var undecided []settings.MCPServer
		if err == nil && to.cwd != cwd {
			undecided, _ = s.Undecided(to.cwd) // the run reports the error
		}
		return func() {
			u.opening = false
			if err != nil {
				u.fail("", err)
				u.giveBack()
				return
			}
			from := ""
			if fork {
				from = s.ID()
			}
			s.Enter(to)
			u.enter(from)
			if id == "" {
				u.note("a new session begins with your next message")
			}
			if u.printed = fork; !fork { // the other session may be that of another project
				u.context = nil
				if u.own != nil {
					u.own.left = true
				}
			}
			if then != nil {
				then()
			}
			if u.cwd != cwd {
				u.askServers(undecided)
				return
			}
			u.runEarly()
		}
	})
}

// enter shows the session of the conversation, and works in its folder. A fork is a copy of another
// session.
func (u *ui) enter(copyOf string) {
	if u.unfollow != nil {
		u.unfollow()
		u.unfollow = nil
	}
	about := u.s.About()
	if cwd := u.s.at().cwd; cwd != u.cwd {
		u.cwd, u.look.Cwd = cwd, cwd
		u.inbox.SaveIn(saverule.Target{Folder: cwd})
		if u.files != nil {
			u.files.Close()
			u.files = nil
		}
		u.around.branchAt = time.Time{}
	}
	u.conv = conversation.New(&conversation.Options{Cwd: about.Cwd, Session: u.s.ID(), Title: about.Title, Model: about.Model, Window: u.windowOf})
	u.setStatusCommand()
	for _, e := range u.unsaved {
		u.record(e)
	}
	u.unsaved = nil
	u.blocks, u.answer, u.shown = nil, nil, false
	u.inbox.Set(nil)
	if u.s.ID() != "" {
		text := "session " + lastPart(u.s.ID()) + "  " + term.OneLine(about.Title)
		if copyOf != "" {
			text = "now in session " + lastPart(u.s.ID()) + ", a copy of " + lastPart(copyOf)
		}
		u.note(strings.TrimSpace(text))
		u.follow()
	}
	u.mode, u.seenMode, u.model = "", "", ""
	conv := u.conv
	u.later(func(ctx context.Context) func() {
		mode, err := u.s.Mode(ctx)
		return func() {
			if err == nil && u.conv == conv && u.mode == "" && conv.State().Mode == "" {
				u.mode = mode
			}
		}
	})
	if about.Status == api.StatusInterrupted {
		u.say("the run was interrupted; send a message or /continue")
	}
}

// follow reads the events of the session.
func (u *ui) follow() {
	ctx, cancel := context.WithCancel(u.ctx)
	u.unfollow = cancel
	s := u.s
	u.follows.Go(func() {
		for e, err := range s.Events(ctx) {
			then := func() {
				switch {
				case ctx.Err() != nil: // the conversation is in another session now
				case err != nil:
					u.fail("events", err)
				default:
					u.apply(e)
				}
			}
			select {
			case u.events <- then:
			case <-ctx.Done():
				return
			}
		}
	})
}

// answered sends an answer of the inbox.
func (u *ui) answered(a inbox.Answer) {
	ans := a.Answer
	if ans.SaveTo = ""; a.Saved != "" { // the inbox has saved the rule
		u.note(a.Saved)
	}
	u.later(func(ctx context.Context) func() {
		_, err := u.s.Answer(ctx, &approval.Request{ID: a.ID, Digest: a.Digest}, ans)
		return func() {
			if err != nil {
				u.inbox.Failed(a.ID, err)
			}
		}
	})
}

// leave ends the conversation. Without a daemon, it ends the run too.
func (u *ui) leave() {
	st := u.conv.State()
	u.leaveRun(st.Working || len(st.Questions) > 0)
}

// leaveRun ends the conversation. Working says whether there is a run that has not ended.
func (u *ui) leaveRun(working bool) {
	switch {
	case u.s == nil || u.s.ID() == "":
	case working && u.s.About().Daemon:
		u.note("the agent continues in the daemon; holdfast attach " + u.s.storeArg() + lastPart(u.s.ID()) + " comes back")
	case working && !u.twice("leave"):
		u.say("the agent works in this program and would be interrupted; press ctrl-d twice to interrupt it and leave")
		return
	default:
		u.note("holdfast " + u.s.storeArg() + "-r " + lastPart(u.s.ID()) + " continues this session")
	}
	u.leaving = true
}

// moving reports whether the block changes without an event.
func (u *ui) moving() bool {
	st := u.conv.State()
	return st.Working || u.own != nil || u.opening || len(st.Calls) > 0
}

// nextChange returns when the frame that was drawn changes without an event, or the zero time.
func (u *ui) nextChange(drawn time.Time) time.Time {
	switch end := u.inbox.NoticeEnds(); {
	case u.moving():
		return drawn.Add(render.Frame)
	case end.After(drawn):
		return end
	}
	return time.Time{}
}

// signals returns control sequences for the terminal: title, notification, bell.
func (u *ui) signals() string {
	st := u.conv.State()
	title := st.Title
	if title == "" {
		title = filepath.Base(u.cwd)
	}
	u.notify.look(title, len(st.Questions), st.Working, u.focused)
	return u.notify.take()
}

// close ends what runs outside of the loop, waits for it, and closes what is open.
func (u *ui) close() {
	u.end()
	for u.pending > 0 {
		(<-u.done)() // it can have opened something
	}
	u.follows.Wait()
	u.inbox.Close()
	u.closeStatus()
	if u.files != nil {
		u.files.Close()
	}
	if u.s != nil {
		_ = u.s.Close() // a run in this program is interrupted and can be continued
	}
}

// errorText returns an error and its hint in one line each.
func errorText(err error) string { return outcome.WithHint(err.Error(), outcome.Hint(err)) }

// lastPart returns the last characters of an id, which commands accept for it. The first ones of some
// ids are a time.
func lastPart(id string) string { return id[max(0, len(id)-8):] }
