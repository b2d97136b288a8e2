package supervisor

import (
	"errors"
	"io"
)

// hostConn is the container's side of one connection with the host.
type hostConn struct {
	server *server
	link   *link
	task   *task // used by the link's goroutine, and by other goroutines after it has ended
}

// handle handles one frame, on the link's goroutine.
func (c *hostConn) handle(f *frame) error {
	switch f.Type {
	case typePing:
		if f.N != 0 {
			h := c.server.health()
			return c.link.post(frame{Type: typePong, N: f.N, Health: &h})
		}
		return nil
	case typeList:
		return c.link.post(frame{Type: typeListed, N: f.N, Processes: c.server.list()})
	case typeStart:
		return c.start(f)
	}
	if c.task == nil {
		return nil // from a later version
	}
	return c.task.handle(f)
}

func (c *hostConn) start(f *frame) error {
	refused := func(code, text string) error {
		return c.link.post(frame{Type: typeRefused, N: f.N, Code: code, Error: text})
	}
	if f.Start == nil {
		return errFrame
	}
	if c.task != nil {
		return refused(codeUsed, "")
	}
	if err := f.Start.check(); err != nil {
		return refused(codeSpec, err.Error())
	}
	t, err := c.server.start(f.Start, c.link)
	switch {
	case errors.Is(err, ErrRunning):
		return refused(codeRunning, "")
	case err != nil:
		return refused(codeStart, err.Error())
	}
	c.task = t
	err = c.link.send(&frame{Type: typeStarted, N: f.N, Pid: t.pid}, nil) // before its first output
	t.run()
	return err
}

// onDisconnect ends the running process when the connection has ended.
func (c *hostConn) onDisconnect() {
	c.link.gone.Wait() // the goroutine that starts the process
	if t := c.task; t != nil {
		t.lost()
	}
}

// handle handles a frame for the process.
func (t *task) handle(f *frame) error {
	switch f.Type {
	case typeData:
		if b := t.inbox(f.S); b != nil {
			return b.put(f.data)
		}
		return errFrame
	case typeEnd:
		if b := t.inbox(f.S); b != nil {
			b.finish(io.EOF)
		}
	case typeShut:
		if o := t.outbox(f.S); o != nil {
			o.fail(io.ErrClosedPipe)
		}
	case typeAck:
		if o := t.outbox(f.S); o != nil {
			return o.grant(f.Size)
		}
		return errFrame
	case typeKill:
		t.kill()
	case typeSignal:
		t.sendReaper("signal", f.Signal)
	case typeResize:
		if f.Window != nil {
			t.resize(*f.Window)
		}
	}
	return nil
}

func (t *task) inbox(s int) *inbox {
	switch {
	case s == streamIn:
		return t.in
	case s == streamChannel && t.channel != nil:
		return t.channelIn
	}
	return nil
}

func (t *task) outbox(s int) *outbox {
	switch {
	case s == streamOut:
		return t.out
	case s == streamErr:
		return t.errs
	case s == streamChannel && t.channel != nil:
		return t.channelOut
	}
	return nil
}
