package crashtest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// workLog appends directly to the log the records that an agent would append: two rounds of tool
// calls and an answer for every prompt.
func workLog(ctx context.Context, j job) (err error) {
	restored, err := j.sessions.Restore(ctx, session.RestoreOptions{SessionID: j.id})
	if err != nil {
		return err
	}
	defer func() {
		if e := restored.Log.Close(); err == nil {
			err = e
		}
	}()
	j.report.Recovered(restored.Log.Recovery())
	if err := CheckPairing(restored.State.Items); err != nil {
		j.report.Fault("session %s cannot continue: %v", j.id, err)
		return err
	}
	j.report.Resumed(j.id)

	h := logWriter{job: j, log: restored.Log}
	for range j.rounds {
		h.prompt(ctx)
	}
	return h.err
}

// logWriter writes records until the first error.
type logWriter struct {
	job
	log  *session.Log
	uses int
	err  error
}

func (h *logWriter) prompt(ctx context.Context) {
	turn := h.sessions.NewID()
	h.append(ctx, h.item(transcript.UserText("go on "+strings.Repeat("please ", 40))), draft(record.KindTurnOpened, record.TurnOpened{Turn: turn}))
	for range 2 {
		first, second := h.nextUse(), h.nextUse()
		h.append(ctx, h.item(transcript.Item{
			Role: transcript.RoleAssistant, Finish: transcript.FinishToolUse,
			Parts: []transcript.Part{
				transcript.Text{Text: strings.Repeat("let me see ", 60)},
				transcript.ToolUse{ID: first, Name: "Effect", Input: []byte(`{}`)},
				transcript.ToolUse{ID: second, Name: "Effect", Input: []byte(`{}`)},
			},
		}))
		h.effect(ctx, first)
		h.effect(ctx, second)
	}
	h.append(ctx, h.item(transcript.Item{
		Role: transcript.RoleAssistant, Finish: transcript.FinishStop,
		Parts: []transcript.Part{transcript.Text{Text: "done"}},
	}), draft(record.KindTurnClosed, record.TurnClosed{Turn: turn, Reason: "completed"}))
}

func (h *logWriter) effect(ctx context.Context, use string) {
	h.append(ctx, draft(record.KindToolStarted, record.ToolStarted{Use: use, Tool: "Effect"}))
	if h.err != nil {
		return
	}
	if h.err = h.ledger.Note(h.id, use); h.err != nil {
		return
	}
	result := transcript.ToolResult{UseID: use, Content: []transcript.Part{transcript.Text{Text: "ran"}}}.Item()
	h.append(ctx, draft(record.KindToolFinished, record.ToolFinished{Use: use, Tool: "Effect"}), h.item(result))
}

func (h *logWriter) nextUse() string {
	h.uses++
	return h.use(h.uses)
}

func (h *logWriter) item(it transcript.Item) session.Draft {
	it.ID, it.Time = h.sessions.NewID(), time.Now().UTC().Truncate(time.Millisecond)
	return session.ItemDraft(it.MustEncode(), false, nil)
}

func (h *logWriter) append(ctx context.Context, drafts ...session.Draft) {
	if h.err == nil {
		_, h.err = h.log.Append(ctx, drafts...)
	}
}

// draft makes a record with one of this package's fixed payloads.
func draft(k session.Kind, payload any) session.Draft {
	d, err := session.NewDraft(k, payload)
	if err != nil {
		panic(fmt.Sprintf("crashtest: %v", err)) // plain fields cannot fail
	}
	return d
}
