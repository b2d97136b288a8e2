package chat

import (
	"context"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
)

// remember takes the text out of the box and adds it to the history.
func (u *ui) remember() {
	e := u.box.Take()
	e.Time = u.now()
	if u.s == nil || u.opening { // erasing the session must find it
		u.unsaved = append(u.unsaved, e)
		return
	}
	u.record(e)
}

// record adds a text to the history of the session.
func (u *ui) record(e edit.Entry) {
	e.Session = u.s.ReservedID()
	u.try("history", func(ctx context.Context) error { return u.history.Add(ctx, e) })
}

// send sends a message. While the first session is being opened, the message waits.
func (u *ui) send(text string) {
	m := u.message(text)
	m.text = record.WithCommands(m.text, u.context)
	u.context = nil
	u.waiting = append(u.waiting, m)
	if u.s == nil && !u.opening {
		u.openSession()
	}
	u.sendWaiting()
}

// sendWaiting sends the oldest message that waits, and then the next one. A message that cannot be
// sent comes back into the box.
func (u *ui) sendWaiting() {
	if sent := u.sent; len(u.waiting) == 0 && len(u.modes) == 0 && sent != nil {
		u.sent = nil
		sent()
	}
	if len(u.waiting) == 0 || u.s == nil || u.sending || u.compacting || u.inbox.Interviewing() {
		return
	}
	m := u.waiting[0]
	u.sending = true
	u.later(func(ctx context.Context) func() {
		err := u.s.CheckModel()
		if err == nil {
			err = u.s.Send(ctx, m.text, m.images...)
		}
		return func() {
			u.sending = false
			if err != nil {
				what := "not sent"
				if isLost(err) && !isGone(err) { // the events show it if it was
					what = "perhaps not sent"
				}
				u.fail(what, err)
				u.giveBack()
				u.sendWaiting()
				return
			}
			u.waiting = slices.Delete(u.waiting, 0, 1)
			if u.unfollow == nil { // the message has created the session
				u.follow()
			}
			if len(u.waiting) == 0 {
				u.runEarly()
			}
			u.sendWaiting()
		}
	})
}

// giveBack puts messages that were not sent into the box.
func (u *ui) giveBack() {
	texts := u.early
	for _, m := range u.waiting {
		text, commands := record.CutCommands(m.text) // its labels have their images
		if texts = append(texts, text); commands != "" {
			u.context = append(u.context, commands)
		}
	}
	u.early, u.waiting = nil, nil
	u.putBack(texts)
}

// interrupt ends the turn of the agent. The user's queued messages come back into the box: they were
// meant for what the agent did.
func (u *ui) interrupt() {
	queue := slices.DeleteFunc(slices.Clone(u.conv.State().Queue), func(q conversation.Queued) bool { return q.Delivered || q.By != u.look.Me })
	u.later(func(ctx context.Context) func() {
		err := u.s.Interrupt(ctx)
		var back []conversation.Queued
		for _, q := range queue {
			if err == nil && u.s.Withdraw(ctx, q.ID) == nil { // otherwise the agent has it
				back = append(back, q)
			}
		}
		return func() {
			if err != nil {
				u.fail("interrupt", err)
			}
			u.putBackQueued(back...)
		}
	})
}

// takeBack removes a queued message and puts it into the box.
func (u *ui) takeBack(q conversation.Queued) {
	u.later(func(ctx context.Context) func() {
		err := u.s.Withdraw(ctx, q.ID)
		return func() {
			if err != nil {
				u.fail("take the message back", err)
				return
			}
			u.putBackQueued(q)
		}
	})
}

func (u *ui) putBackQueued(list ...conversation.Queued) {
	var texts []string
	for _, q := range list {
		texts = append(texts, u.labels.entry(q.Text, q.Images).Text)
	}
	u.putBack(texts)
}

// putBack puts messages into the box, before what the user writes there.
func (u *ui) putBack(texts []string) {
	if len(texts) == 0 {
		return
	}
	if !u.box.Empty() {
		texts = append(texts, u.box.Text())
	}
	u.box.Set(u.labels.entry(strings.Join(texts, "\n"), nil))
}
