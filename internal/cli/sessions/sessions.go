// Package sessions is `holdfast sessions`: list, read, change and check sessions.
package sessions

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

// Command makes `holdfast sessions`.
func Command(p *command.Program) *command.Command {
	return p.Group("sessions", "List, read, change and check sessions.",
		p.Command(&listCmd{}, "list", "List the sessions of this project, newest first.", "ls"),
		p.Command(&searchCmd{}, "search", "Find words in what was said in the sessions of this project.", "find"),
		p.Command(&showCmd{}, "show", "Print a session as people read it, or its records."),
		p.Command(&renameCmd{}, "rename", "Give a session a title."),
		p.Command(&tagCmd{}, "tag", "Give a session a tag; an empty one clears it."),
		p.Command(&forkCmd{}, "fork", "Branch off a session; nothing is copied."),
		p.Command(&rewindCmd{}, "rewind", "Take a session's files and transcript back to an earlier point; says first what it will change."),
		p.Command(&deleteCmd{}, "delete", "Delete a session; what forks of it need stays.", "rm"),
		p.Command(&pruneCmd{}, "prune", "Put old sessions into the trash, or delete what is in it."),
		p.Command(&restoreCmd{}, "restore", "Take a session out of the trash."),
		p.Command(&exportCmd{}, "export", "Write a session as records, for people, or for another program."),
		p.Command(&importCmd{}, "import", "Import sessions of Claude Code, Codex, the Open Agent SDK, or exported ones."),
		p.Command(&verifyCmd{}, "verify", "Check logs record by record."),
		p.Command(&repairCmd{}, "repair", "Repair what a crash or a disk has damaged, without losing anything."),
		p.Command(&redactCmd{}, "redact", "Erase content of a session for good, and keep the proof of what was there."),
		p.Command(&compactCmd{}, "compact", "Have a model summarize the older part of a session; the log keeps what was there before."),
		p.Command(&relocateCmd{}, "relocate", "Say where the folder of a session is now."),
	)
}

// printChanged prints what a command did to a session: its meta afterwards as JSON,
// or a sentence.
func printChanged(ctx context.Context, p *command.Program, s *session.Sessions, id string, asJSON bool, sentence string) error {
	m, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return p.Out.JSON(m, false)
	}
	p.Err.Line("%s", term.Escape(sentence))
	return nil
}

// The states of a session as far as its log and its lease tell.
const (
	stateIdle    = "idle"
	stateRunning = "running"
	stateWaiting = "waiting" // for an answer
	stateCrashed = "crashed" // a turn is open, or a run goes on, and nobody runs it
	stateDamaged = "damaged" // its log or its lease cannot be read
)

// state looks at how the last turn stands and, when that leaves it open, a run goes on or
// somebody asks, at who holds the session. Items without a turn were saved or imported. What
// anybody may append, and what happens between turns, says nothing about the turn. Asking is
// [session.Sessions.Asking].
func state(ctx context.Context, s *session.Sessions, m session.Meta, asking map[string]int) (string, *session.Lease) {
	runs, asks := m.Run == string(api.StatusRunning), m.Questions+asking[m.ID] > 0
	over, wants, given := true, false, map[string]bool{}
	most := session.Range{Reverse: true}
	if runs {
		most.Limit = 1000 // the log of a run of several agents has nothing else
	}
walk:
	for r, err := range s.Records(ctx, m.ID, most) {
		if err != nil {
			return stateDamaged, nil
		}
		switch r.Kind {
		case record.KindRunEvent:
			var e wire.RunEvent
			if runs && r.Payload != nil && json.Unmarshal(r.Payload, &e) == nil {
				given[e.InputID] = given[e.InputID] || e.Event == wire.RunInputGiven
				wants = wants || e.Event == wire.RunInputAsked && !given[e.InputID]
			}
		case record.KindTurnOpened, record.KindApprovalAsked, record.KindToolStarted:
			over = false
			break walk
		case record.KindTurnClosed, record.KindOpened, record.KindRewrite, record.KindRedacted:
			break walk
		}
	}
	if over && !runs && !asks {
		return stateIdle, nil
	}
	held, err := s.Held(ctx, m.ID)
	switch {
	case err != nil:
		return stateDamaged, nil
	case asks, wants && held != nil:
		return stateWaiting, held
	case held == nil:
		return stateCrashed, nil
	}
	return stateRunning, held
}

// recordDoc is a record in JSON, in `sessions show --records` and in exports.
type recordDoc struct {
	Seq     int64           `json:"seq"`
	ID      string          `json:"id"`
	Time    time.Time       `json:"time"`
	Kind    session.Kind    `json:"kind"`
	Payload json.RawMessage `json:"payload"`
	Prev    session.Digest  `json:"prev"`
	Body    session.Digest  `json:"body"`
	Digest  session.Digest  `json:"digest"`
}

func docOf(r session.Record) recordDoc {
	return recordDoc{r.Seq, r.ID, r.Time, r.Kind, r.Payload, r.Prev, r.Body, r.Digest}
}
