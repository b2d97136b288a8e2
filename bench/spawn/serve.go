//go:build linux

package spawn

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// starter starts one program and waits for its end.
type starter interface {
	start() error
	close() error
}

// Serve answers requests until the input ends. Each way is prepared when it is first requested.
func Serve(in io.Reader, out io.Writer) (err error) {
	prepared := map[string]starter{}
	defer func() {
		for _, s := range prepared {
			err = errors.Join(err, s.close())
		}
	}()
	questions, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var a Ask
		if err := questions.Decode(&a); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		key := fmt.Sprintf("%q %q %q %q", a.Way, a.Argv, a.Dir, a.Env)
		s := prepared[key]
		if s == nil {
			made, err := prepare(&a)
			if err != nil {
				if err := answers.Encode(&Answer{Error: err.Error()}); err != nil {
					return err
				}
				continue
			}
			s, prepared[key] = made, made
		}
		if err := answers.Encode(block(&a, s)); err != nil {
			return err
		}
	}
}

// block starts a program as often as requested.
func block(a *Ask, s starter) *Answer {
	answer := &Answer{Took: make([]time.Duration, a.Times)}
	var (
		workers sync.WaitGroup
		next    atomic.Int64
		failed  = make([]error, max(a.Workers, 1))
		begun   = time.Now()
	)
	for w := range failed {
		work := func() {
			for i := next.Add(1) - 1; i < int64(a.Times) && failed[w] == nil; i = next.Add(1) - 1 {
				t0 := time.Now()
				failed[w] = s.start()
				answer.Took[i] = time.Since(t0)
			}
		}
		if len(failed) == 1 {
			work() // on this goroutine, as in a program that starts one other program
			continue
		}
		workers.Go(work)
	}
	workers.Wait()
	answer.Wall = time.Since(begun)
	if err := errors.Join(failed...); err != nil {
		answer.Error = fmt.Sprintf("%s %s: %v", a.Way, strings.Join(a.Argv, " "), err)
	}
	return answer
}
