package crashtest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// workLife applies to sessions everything that can happen to one: they are created, extended,
// forked, renamed, redacted and deleted. Forks are deleted both before and after their parents.
func workLife(ctx context.Context, j job) error {
	for round := range j.rounds {
		l := sessionPair{job: j, name: fmt.Sprintf("%s-%d-%d", j.id, j.run, round), round: round}
		if err := l.run(ctx); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	return nil
}

// sessionPair is a session and its fork.
type sessionPair struct {
	job

	name  string
	round int
}

func (l sessionPair) run(ctx context.Context) error {
	fork := l.name + "-f"
	steps := []func() error{
		func() error { return l.extend(ctx, l.name, 3) },
		func() error {
			_, err := l.sessions.Fork(ctx, l.name, &session.ForkOptions{ID: fork})
			return err
		},
		func() error { return l.extend(ctx, fork, 2) },
		func() error { return l.extend(ctx, l.name, 1) },
		func() error { return l.sessions.Rename(ctx, l.name, "title "+l.name) },
		func() error { return l.redact(ctx, l.name) },
		func() error { return l.extend(ctx, l.name, 1) },
	}
	switch l.round % 3 { // the sessions of every third round are not deleted
	case 0:
		steps = append(steps, func() error { return l.sessions.Delete(ctx, l.name) }, func() error { return l.extend(ctx, fork, 1) })
	case 1:
		steps = append(steps, func() error { return l.sessions.Delete(ctx, fork) }, func() error { return l.sessions.Delete(ctx, l.name) })
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// extend opens a session, which it creates if necessary, and appends some turns.
func (l sessionPair) extend(ctx context.Context, id string, turns int) (err error) {
	r, err := l.sessions.Restore(ctx, session.RestoreOptions{SessionID: id})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Log.Close()) }()
	h := logWriter{job: l.job, log: r.Log}
	for n := range turns {
		h.append(ctx, h.item(transcript.UserText(fmt.Sprint("please ", n, strings.Repeat(" go on", 30*l.round%200)))))
		h.append(ctx, h.item(transcript.Item{
			Role: transcript.RoleAssistant, Finish: transcript.FinishStop,
			Parts: []transcript.Part{transcript.Text{Text: strings.Repeat("so I did ", 20+100*(l.round%5))}},
		}))
	}
	return h.err
}

// redact erases the session's first two items.
func (l sessionPair) redact(ctx context.Context, id string) error {
	var seqs []int64
	for r, err := range l.sessions.Records(ctx, id, session.Range{}) {
		if err != nil {
			return err
		}
		if r.Kind == session.KindItem && len(seqs) < 2 {
			seqs = append(seqs, r.Seq)
		}
	}
	_, err := l.sessions.Redact(ctx, id, session.RedactOptions{Seqs: seqs, Reason: "a test", By: "crashtest"})
	return err
}
