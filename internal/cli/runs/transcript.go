package runs

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/cli/view"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/recordevents"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// transcriptPrinter prints the events of a session as `holdfast run` prints them, with the prompts
// and the approval requests. Everything goes to Stdout, because here it is the data.
type transcriptPrinter struct {
	out    *term.Printer
	view   *view.Text
	meta   session.Meta
	reader *recordevents.Reader
}

func newTranscript(p *command.Program, m session.Meta, verbose bool) *transcriptPrinter {
	same := *p
	same.Err = p.Out
	v := &view.Text{Program: &same, Verbose: verbose}
	v.Start(view.Header{Cwd: m.CWD, Model: m.Model})
	same.Err.Progress().Show("")
	return &transcriptPrinter{out: p.Out, view: v, meta: m}
}

// record prints what a record tells about the run and no event contains.
func (l *transcriptPrinter) record(r session.Record) {
	var t record.TurnClosed
	if r.Kind != record.KindTurnClosed || l.meta.Run != "" || json.Unmarshal(r.Payload, &t) != nil || t.Reason == string(event.ReasonCompleted) {
		return // a run of the daemon has a result
	}
	why := "the turn ended: " + strings.ReplaceAll(t.Reason, "_", " ")
	if t.Error != "" {
		why += ": " + t.Error
	}
	l.note(why)
}

// render prints an event.
func (l *transcriptPrinter) render(e event.Event) error {
	switch e := e.(type) {
	case event.ItemAppended:
		switch e.Item.Role() {
		case transcript.RoleUser:
			l.prompt(e.Item.Text())
			return nil
		case transcript.RoleNotification:
			l.note(e.Item.Text())
			return nil
		}
	case event.SubagentEvent:
		if q, ok := e.Event.(event.ApprovalAsked); ok {
			l.asked(q.Request)
			return nil
		}
	case event.ApprovalAsked: // the terminal that asks prints the request itself; here it is a line
		l.asked(e.Request)
		return nil
	}
	return l.view.Render(e)
}

// prompt prints what the user wrote.
func (l *transcriptPrinter) prompt(text string) {
	l.out.EndLine()
	l.out.Line("")
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		l.out.Line("%s", l.out.Bold("> "+term.Escape(line)))
	}
}

func (l *transcriptPrinter) asked(q approval.Request) {
	l.out.Line("%s %s", l.out.Yellow("? approval "+q.ID+":"), term.Truncate(q.Tool+"  "+question.Subject(q), max(20, l.out.Columns()-40)))
}

func (l *transcriptPrinter) note(text string) {
	l.out.Line("%s", l.out.Dim("· "+term.Escape(term.OneLine(text))))
}

// pending prints how to answer what is pending, and how to resume after a crash. args are the flags
// of a command that opens the store.
func (l *transcriptPrinter) pending(ctx context.Context, s *session.Sessions, args string) error {
	open, err := runlog.Pending(ctx, s, l.meta.ID)
	if errors.Is(err, session.ErrNotFound) {
		return nil
	}
	for _, q := range open {
		l.out.Line("%s holdfast approvals show %s%s", l.out.Bold("needs you:"), args, q.ID)
	}
	if err != nil || len(open) > 0 {
		return err
	}
	m, err := s.Get(ctx, l.meta.ID)
	if err != nil {
		return err
	}
	if state, _ := runlog.State(ctx, s, m, nil); state == runlog.Crashed && m.Owner == "" {
		l.note("the process of this run ended before the run did; resume it: holdfast run " + args + "--resume " + m.ID)
	}
	return nil
}

func (l *transcriptPrinter) end() { l.out.EndLine() }

// endsRun reports whether a record is the end of a run of the daemon.
func endsRun(kind session.Kind, payload []byte) bool {
	var e wire.RunEvent
	if kind != record.KindRunEvent || json.Unmarshal(payload, &e) != nil {
		return false
	}
	switch e.Event {
	case wire.RunCompleted, wire.RunFailed, wire.RunCancelled, wire.RunInterrupted:
		return true
	}
	return false
}
