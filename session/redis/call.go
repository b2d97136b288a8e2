package redis

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/session"
)

// answer is what a script returns. Its first word says how it went.
type answer []any

func (a answer) word(i int) string {
	if i >= len(a) {
		return ""
	}
	s, _ := a[i].(string)
	return s
}

func (a answer) number(i int) int64 {
	n, _ := strconv.ParseInt(a.word(i), 10, 64)
	return n
}

func (a answer) list(i int) []any {
	if i >= len(a) {
		return nil
	}
	l, _ := a[i].([]any)
	return l
}

// run has a script read.
func (s *Store) run(ctx context.Context, op, id string, script *redis.Script, args ...any) (answer, error) {
	return s.call(ctx, op, id, script, false, args)
}

// write has a script change something. All that do may be done twice.
func (s *Store) write(ctx context.Context, op, id string, script *redis.Script, args ...any) (answer, error) {
	return s.call(ctx, op, id, script, s.durability == durableWait, args)
}

func (s *Store) call(ctx context.Context, op, id string, script *redis.Script, wait bool, args []any) (answer, error) {
	keys := []string{s.base + "format"}
	args = append([]any{s.base, id}, args...)
	return s.try(ctx, op, id, func(ctx context.Context) (answer, error) {
		if wait {
			return s.evalAndWait(ctx, script, keys, args)
		}
		out, err := script.Run(ctx, s.db, keys, args...).Slice()
		return out, err
	})
}

// evalAndWait waits on the same connection until the server has synced.
func (s *Store) evalAndWait(ctx context.Context, script *redis.Script, keys []string, args []any) (answer, error) {
	eval := script.EvalSha
	for {
		pipe := s.db.Pipeline()
		ran := eval(ctx, pipe, keys, args...)
		synced := pipe.Do(ctx, "WAITAOF", 1, 0, s.timeout.Milliseconds())
		_, _ = pipe.Exec(ctx) // the commands have the errors
		out, err := ran.Slice()
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			eval = script.Eval
			continue
		}
		if err != nil {
			return nil, err
		}
		counts, err := synced.Int64Slice()
		if err == nil && (len(counts) == 0 || counts[0] < 1) {
			err = errNotSynced
		}
		return out, err
	}
}

var (
	errLoading   = errors.New("the server is still loading its data")
	errNotSynced = errors.New("the server did not sync its append-only file in time")
)

// try calls f until the server has answered, and returns when ctx ends even if f does
// not. What was sent then may still be done.
func (s *Store) try(ctx context.Context, op, id string, f func(context.Context) (answer, error)) (answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.enter(op, id); err != nil {
		return nil, err
	}
	if ctx.Done() == nil {
		defer s.ops.Done()
		return s.tries(ctx, op, id, f)
	}
	type result struct {
		answer
		error
	}
	done := make(chan result, 1)
	go func() {
		defer s.ops.Done()
		out, err := s.tries(ctx, op, id, f)
		done <- result{out, err}
	}()
	select {
	case r := <-done:
		return r.answer, r.error
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *Store) tries(ctx context.Context, op, id string, f func(context.Context) (answer, error)) (answer, error) {
	deadline := time.Now().Add(s.timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d // then why it failed says more than that it has ended
	}
	sent := false
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		out, err := f(ctx)
		if err == nil {
			if sent && op == "delete" && out.word(0) == "missing" {
				return answer{"ok"}, nil // it was deleted by what was sent before
			}
			return out, s.refusal(op, id, out)
		}
		again, lost := passing(err)
		sent = sent || lost
		if err := s.ended(ctx, op, id); err != nil {
			return nil, err
		}
		if !again || time.Now().Add(pause).After(deadline) {
			return nil, s.translate(op, id, err)
		}
		if err := s.pause(ctx, pause, op, id); err != nil {
			return nil, err
		}
	}
}

// ended tells that nobody waits for an answer any more.
func (s *Store) ended(ctx context.Context, op, id string) error {
	select {
	case <-s.closed:
		return s.closedError(op, id)
	default:
		return ctx.Err()
	}
}

// pause waits, unless nobody waits for an answer any more.
func (s *Store) pause(ctx context.Context, d time.Duration, op, id string) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closed:
		return s.closedError(op, id)
	}
}

// passing reports whether an error may be over soon, and whether what was sent may have
// been done.
func passing(err error) (again, lost bool) {
	if _, ours := errors.AsType[*session.Error](err); ours {
		return false, false
	}
	if e, answered := errors.AsType[redis.Error](err); answered {
		for _, code := range []string{"LOADING", "BUSY ", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "ERR max number of clients"} {
			if strings.HasPrefix(e.Error(), code) {
				return true, false
			}
		}
		return false, false
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return !errors.Is(err, net.ErrClosed), op.Op != "dial"
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return !errors.Is(err, context.DeadlineExceeded), true
	}
	switch {
	case errors.Is(err, errLoading), errors.Is(err, redis.ErrPoolTimeout):
		return true, false
	case errors.Is(err, errNotSynced):
		return true, true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF), true
}
