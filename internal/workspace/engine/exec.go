package engine

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Stream is the input and output of a process started by [Engine.Exec]. Reading from it returns the
// process's standard output. [Stream.Stderr] returns its standard error.
//
// The end of the stream does not end the process. It ends only the input of the process,
// immediately. If the engine crashes, the input does not end either.
type Stream struct {
	conn   io.ReadWriteCloser
	out    *io.PipeReader
	done   chan struct{} // closed when the copying has ended
	mu     sync.Mutex
	errors []byte
}

// ExecSpec is a process to start in a running container.
type ExecSpec struct {
	Command []string
	User    string // "uid:gid"; required, because the engine would use the image's user
	Dir     string
}

// Exec starts a process in a container, in addition to the first one. After the process was
// started, the end of the context has no effect.
func (e *Engine) Exec(ctx context.Context, id string, s ExecSpec) (*Stream, error) {
	if s.User == "" {
		return nil, &Error{Op: "exec in container", Name: id, Err: ErrRefused, Detail: "no user given"}
	}
	limited, cancel := context.WithTimeout(ctx, shortTimeout)
	defer cancel()
	process := struct {
		User, WorkingDir                        string
		Cmd                                     []string
		AttachStdin, AttachStdout, AttachStderr bool
	}{s.User, s.Dir, s.Command, true, true, true}
	var made struct {
		ID string `json:"Id"`
	}
	if err := e.api.post(limited, "/containers/"+id+"/exec", nil, process, &made); err != nil {
		return nil, e.fail(ctx, "exec in container", id, err)
	}
	conn, err := e.api.upgrade(limited, "/exec/"+made.ID+"/start", struct{ Detach, Tty bool }{})
	if err != nil {
		return nil, e.fail(ctx, "exec in container", id, err)
	}
	out, in := io.Pipe()
	st := &Stream{conn: conn, out: out, done: make(chan struct{})}
	go func() {
		defer close(st.done)
		_ = in.CloseWithError(split(in, (*tail)(st), conn)) // nil means the end of the output
	}()
	return st, nil
}

func (s *Stream) Read(b []byte) (int, error) { return s.out.Read(b) }

func (s *Stream) Write(b []byte) (int, error) { return s.conn.Write(b) }

// CloseWrite ends the process's input.
func (s *Stream) CloseWrite() error {
	if half, ok := s.conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return http.ErrNotSupported
}

// Close closes the stream and waits until no Read is running.
func (s *Stream) Close() error {
	err := s.conn.Close()
	_ = s.out.Close()
	<-s.done
	if err != nil {
		return fmt.Errorf("close the stream: %w", err)
	}
	return nil
}

// Stderr returns the last part of the process's standard error, at most 8 KiB.
func (s *Stream) Stderr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.errors)
}

const keptErrors = 8 << 10

// tail keeps the last part of what is written.
type tail Stream

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors = append(t.errors, b...)
	if over := len(t.errors) - keptErrors; over > 0 {
		t.errors = append(t.errors[:0], t.errors[over:]...)
	}
	return len(b), nil
}
