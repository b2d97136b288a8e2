package workspace

import (
	"context"
	"errors"
	"io"

	"github.com/holdfast-dev/holdfast/internal/supervisor"
)

// run starts the command on a connection and waits for its end.
func (o *ExecOptions) run(ctx context.Context, conn *supervisor.Conn) (supervisor.Exit, error) {
	spec := supervisor.Spec{ID: "exec-" + newID(), Args: o.Args, Env: o.Env, Dir: o.Dir, Terminal: o.Terminal, Stderr: o.Stderr}
	if spec.Dir == "" {
		spec.Dir = WorkFolder
	}
	p, err := conn.Start(ctx, spec)
	if err != nil {
		return supervisor.Exit{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Kill(context.WithoutCancel(ctx)) })
	defer stop()
	// A read from a terminal cannot be interrupted, so run does not wait for feed.
	go feed(p.Stdin(), o.Stdin)
	done := make(chan struct{})
	defer close(done)
	go o.resize(p, done)
	out := o.Stdout
	if out == nil {
		out = io.Discard
	}
	_, copied := io.Copy(out, p.Stdout())
	if copied != nil { // nothing reads the output any longer
		err = p.Kill(context.WithoutCancel(ctx))
	}
	exit, waited := p.Wait(context.WithoutCancel(ctx))
	if ctx.Err() != nil {
		return exit, ctx.Err()
	}
	return exit, errors.Join(err, copied, waited)
}

func feed(to io.WriteCloser, from io.Reader) {
	if from != nil {
		_, _ = io.Copy(to, from) // a process may end without reading its input
	}
	_ = to.Close()
}

func (o *ExecOptions) resize(p *supervisor.Process, done <-chan struct{}) {
	for {
		select {
		case size, ok := <-o.Resize:
			if !ok {
				return
			}
			_ = p.Resize(context.Background(), size)
		case <-done:
			return
		}
	}
}
