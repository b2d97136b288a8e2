package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/conversation"
)

// ownCommand is a command of the user that runs now.
type ownCommand struct {
	line    string
	started time.Time
	cancel  context.CancelFunc
	ended   bool // by the user
	left    bool // the user has entered another session

	mu  sync.Mutex
	out []byte
	cut int // bytes at the start that were not kept
}

func (c *ownCommand) end() {
	c.ended = true
	c.cancel()
}

// call shows a command like a call of the agent.
func (c *ownCommand) call() *conversation.Call {
	return &conversation.Call{Tool: "!", Input: commandInput(c.line), Output: c.text(), Started: c.started}
}

const (
	ownOutput   = 64 << 10 // bytes of a command's output that are kept
	modelOutput = 8 << 10  // and that the model gets
)

func (c *ownCommand) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = append(c.out, b...)
	if len(c.out) > 2*ownOutput {
		c.cut += len(c.out) - ownOutput
		c.out = append([]byte(nil), c.out[len(c.out)-ownOutput:]...)
	}
	return len(b), nil
}

func (c *ownCommand) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.out[max(0, len(c.out)-ownOutput):])
}

// omitted returns how many bytes before text were not kept.
func (c *ownCommand) omitted() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut + max(0, len(c.out)-ownOutput)
}

// shell runs a command of the user in the sandbox. The model gets it and its output with the next
// message.
func (u *ui) shell(line string) {
	if u.own != nil {
		u.say("your previous command is still running; ctrl-c ends it")
		return
	}
	program, err := u.p.Executable()
	if err != nil {
		u.fail("!"+line, err)
		return
	}
	ctx, cancel := context.WithCancel(u.ctx)
	own := &ownCommand{line: line, started: u.now(), cancel: cancel}
	u.own = own
	cmd := exec.CommandContext(ctx, program, "sandbox", "exec", "--", "sh", "-c", line)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // a shell that waits ignores interrupts
	cmd.WaitDelay = 3 * time.Second
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = u.cwd, u.p.Env, own, own
	u.later(func(context.Context) func() {
		err := cmd.Run()
		cancel()
		return func() { u.shellEnded(own, err) }
	})
}

func (u *ui) shellEnded(own *ownCommand, err error) {
	u.own = nil
	out := own.text()
	status := ""
	if err != nil {
		status = err.Error()
		if own.ended {
			status = "ended by you"
		} else if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			status = fmt.Sprintf("exit code %d", exit.ExitCode())
		}
		out = strings.TrimRight(out, "\n") + "\n" + status
	}
	call := own.call()
	call.Output, call.IsError, call.Took = out, err != nil, u.now().Sub(own.started)
	u.finish(&conversation.Block{Kind: conversation.Called, Call: call}, false)
	if own.left {
		return
	}
	text := out[max(0, len(out)-modelOutput):]
	if n := own.omitted() + len(out) - len(text); n > 0 {
		text = fmt.Sprintf("[… %d bytes before this are left out]\n%s", n, strings.ToValidUTF8(text, ""))
	}
	u.context = append(u.context, fmt.Sprintf("$ %s\n%s", own.line, strings.TrimRight(text, "\n")))
	u.say("the agent sees this with your next message")
}

// commandInput returns the input of a call that runs a command.
func commandInput(line string) json.RawMessage {
	b, _ := json.Marshal(map[string]string{"command": line}) // strings can always be encoded
	return b
}
