package sandbox

import (
	"errors"
	"io"
)

// StdinPipe returns a pipe to the command's standard input. The writer closes it; Wait closes it as
// well.
func (c *Cmd) StdinPipe() (io.WriteCloser, error) {
	if c.Stdin != nil {
		return nil, errors.New("sandbox: Stdin is already set")
	}
	if c.process != nil {
		return nil, errStarted
	}
	commandEnd, callerEnd, err := c.streams.pipe(true)
	if err != nil {
		return nil, err
	}
	c.Stdin = commandEnd
	return callerEnd, nil
}

// StdoutPipe returns a pipe from the command's standard output. Wait closes it, so the caller must
// read everything before Wait.
func (c *Cmd) StdoutPipe() (io.ReadCloser, error) {
	if c.Stdout != nil {
		return nil, errors.New("sandbox: Stdout is already set")
	}
	if c.process != nil {
		return nil, errStarted
	}
	commandEnd, callerEnd, err := c.streams.pipe(false)
	if err != nil {
		return nil, err
	}
	c.Stdout = commandEnd
	return callerEnd, nil
}

// StderrPipe is StdoutPipe for standard error.
func (c *Cmd) StderrPipe() (io.ReadCloser, error) {
	if c.Stderr != nil {
		return nil, errors.New("sandbox: Stderr is already set")
	}
	if c.process != nil {
		return nil, errStarted
	}
	commandEnd, callerEnd, err := c.streams.pipe(false)
	if err != nil {
		return nil, err
	}
	c.Stderr, c.ReadStderr = commandEnd, true
	return callerEnd, nil
}

var errStarted = errors.New("sandbox: the command was already started")
