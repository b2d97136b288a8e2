package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis"
	"github.com/holdfast-dev/holdfast/session"
)

// answer is the result of a script. Its first word is the status.
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

// run runs a script that reads.
func (s *Store) run(ctx context.Context, op, id string, script *redis.Script, args ...any) (answer, error) {
	return s.call(ctx, op, id, script, false, args)
}

// write runs a script that changes data. All these scripts are safe to repeat.
func (s *Store) write(ctx context.Context, op, id string, script *redis.Script, args ...any) (answer, error) {
	return s.call(ctx, op, id, script, s.durability == durableWait, args)
}

func (s *Store) call(ctx context.Context, op, id string, script *redis.Script, wait bool, args []any) (answer, error) {
	key := s.base + "format"
	args = append([]any{s.base, id}, args...)
	return s.try(ctx, op, id, func(ctx context.Context) (answer, error) {
		if wait {
			return s.evalAndWait(ctx, script, key, args)
		}
		return list(s.db.Run(ctx, script, key, args))
	})
}

// The functions list, text and fields decode a reply of the server.

func list(reply any, err error) (answer, error) {
	l, ok := reply.([]any)
	if err == nil && !ok {
		err = fmt.Errorf("the server answered %T instead of a list", reply)
	}
	return l, err
}

func text(reply any, err error) (string, error) {
	s, ok := reply.(string)
	if err == nil && !ok {
		err = fmt.Errorf("the server answered %T instead of a string", reply)
	}
	return s, err
}

func fields(reply any, err error) (map[string]string, error) {
	l, err := list(reply, err)
	m := make(map[string]string, len(l)/2)
	for i := 0; i+1 < len(l); i += 2 {
		m[l.word(i)] = l.word(i + 1)
	}
	return m, err
}

// evalAndWait runs a script and waits on the same connection until the server has synced.
func (s *Store) evalAndWait(ctx context.Context, script *redis.Script, key string, args []any) (answer, error) {
	for bySource := false; ; bySource = true {
		replies, err := s.db.Pipeline(ctx, script.Call(bySource, key, args), redis.Command{"WAITAOF", 1, 0, s.timeout.Milliseconds()})
		if err != nil {
			return nil, err
		}
		out, err := list(replyOrError(replies[0]))
		if redis.HasCode(err, "NOSCRIPT") && !bySource {
			continue
		}
		if err != nil {
			return nil, err
		}
		counts, err := list(replyOrError(replies[1]))
		if local, _ := first(counts).(int64); err == nil && local < 1 {
			err = errNotSynced
		}
		return out, err
	}
}

// replyOrError returns a reply of a pipeline, or the error that it contains.
func replyOrError(reply any) (any, error) {
	if e, ok := reply.(redis.Error); ok {
		return nil, e
	}
	return reply, nil
}

func first(a answer) any {
	if len(a) == 0 {
		return nil
	}
	return a[0]
}

var (
	errLoading   = errors.New("the server is still loading its data")
	errNotSynced = errors.New("the server did not sync its append-only file in time")
)

// try calls f until the server has answered or ctx has ended. A request sent before that may still
// be carried out.
func (s *Store) try(ctx context.Context, op, id string, f func(context.Context) (answer, error)) (answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.enter(op, id); err != nil {
		return nil, err
	}
	defer s.ops.Done()
	return s.retry(ctx, op, id, f)
}

func (s *Store) retry(ctx context.Context, op, id string, f func(context.Context) (answer, error)) (answer, error) {
	deadline := time.Now().Add(s.timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d // the last error is more useful than the context's
	}
	sent := false
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		out, err := f(ctx)
		if err == nil {
			if sent && op == "delete" && out.word(0) == "missing" {
				return answer{"ok"}, nil // an earlier try deleted the session
			}
			return out, s.refusal(op, id, out)
		}
		again, lost := retryable(err)
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

// ended returns an error if the caller's context has ended or the store is closed.
func (s *Store) ended(ctx context.Context, op, id string) error {
	select {
	case <-s.closed:
		return s.closedError(op, id)
	default:
		return ctx.Err()
	}
}

// pause waits for d, or returns the error of ended.
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

// retryable reports whether a retry may succeed, and whether the request may have been carried out.
func retryable(err error) (again, lost bool) {
	if _, final := errors.AsType[*session.Error](err); final {
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
	case errors.Is(err, errLoading), errors.Is(err, redis.ErrBusy):
		return true, false
	case errors.Is(err, errNotSynced):
		return true, true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF), true
}
