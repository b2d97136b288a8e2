package team

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/truncate"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// maxLastMessage is the maximum size, in bytes, of the text of a teammate's last message.
const maxLastMessage = 4000

// onIdle is called when a teammate becomes idle. It returns the teammate's next input, or "".
func (t *Team) onIdle(ctx context.Context, m *teammate, last *event.Result) (next string) {
	if notified, err := t.notifyUnblocked(ctx, m); notified || err != nil {
		return "" // the teammate has something to do, or it cannot be notified
	}
	if last != nil {
		if next := t.askHooks(ctx, m); next != "" {
			return next
		}
	}
	turn, why, text := lastTurn(ctx, m, last)
	if turn != "" {
		t.notifyLead(ctx, "idle-"+m.Session()+"-"+turn, fmt.Sprintf("The teammate %s is idle (%s). Its last message:\n%s", m.name, why, shortenMessage(text)))
	}
	t.mu.Lock()
	leaves := m.ending
	t.mu.Unlock()
	if leaves {
		t.removeTeammate(ctx, m)
		m.Retire()
	}
	return ""
}

// askHooks runs TeammateIdle hooks: a hook that blocks makes the teammate continue.
func (t *Team) askHooks(ctx context.Context, m *teammate) (next string) {
	out, err := m.Agent().Fire(ctx, hook.Input{Event: hook.TeammateIdle, Task: hook.Task{Teammate: m.name, Team: m.team}})
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil || out.Block == nil || m.keptWorking >= maxKeepWorking {
		m.keptWorking = 0
		return ""
	}
	m.keptWorking++
	return "TeammateIdle hook: " + cmp.Or(out.Block.Text, "continue")
}

// lastTurn returns information about the teammate's last turn: its id, the reason why it ended, and
// the last message.
func lastTurn(ctx context.Context, m *teammate, last *event.Result) (turn, why, text string) {
	for _, e := range slices.Backward(m.Agent().Snapshot().Items) {
		if text = e.Text(); e.Role() == transcript.RoleAssistant && text != "" {
			break
		}
		text = ""
	}
	if last != nil {
		why = string(last.Reason)
		if last.Err != nil {
			why += ": " + last.Err.Error()
		}
		return last.Turn, why, text
	}
	log := m.Agent().Sessions()
	if log == nil {
		return "", "", ""
	}
	for rec, err := range log.Records(ctx, m.Session(), session.Range{Reverse: true}) {
		if err != nil {
			break
		}
		var closed record.TurnClosed
		if rec.Kind == record.KindTurnClosed && json.Unmarshal(rec.Payload, &closed) == nil {
			return closed.Turn, closed.Reason, text
		}
	}
	return "", "", text
}

// shortenMessage returns a last message, shortened.
func shortenMessage(text string) string {
	return truncate.String(cmp.Or(strings.TrimSpace(text), "(nothing)"), maxLastMessage)
}

// removeTeammate records that a teammate has left.
func (t *Team) removeTeammate(ctx context.Context, m *teammate) {
	t.forget(m)
	if s := m.Agent().Sessions(); s != nil {
		_ = s.Tag(ctx, m.Session(), m.tag(formerPrefix)) // otherwise it is resumed after a restart
	}
	t.notifyLead(ctx, "left-"+m.Session(), "The teammate "+m.name+" has left the team.")
}
