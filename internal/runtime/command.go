package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// commandModel is the model of an agent that is a command. It answers every input with one call of
// Bash, and every tool result with the text of that result. The command is therefore approved,
// confined and recorded like any other.
//
//	input ─► Bash{command} ─► result ─► its text
type commandModel struct {
	line  string
	stdin bool
}

// commandAPI is the API name of a commandModel, which receives the transcript items unchanged.
const commandAPI = "command"

// command makes the parts of an agent that runs a command line.
func (rt *Runtime) command(ctx context.Context, r *compose.Request, n *runs.AgentRequest) (*runs.AgentParts, error) {
	r.Spec.Tools, r.Spec.Limits.MaxTurns = []string{"Bash"}, 0
	r.Model = &commandModel{line: n.Agent.Command, stdin: n.Agent.Stdin}
	return rt.finish(ctx, r, n)
}

// Info implements [model.Model].
func (c *commandModel) Info() model.Info {
	return model.Info{Provider: commandAPI, Model: "bash", API: commandAPI}
}

// Encode implements [model.Model].
func (c *commandModel) Encode(item transcript.Encoded) (model.EncodedItem, error) {
	return model.EncodedItem{Role: string(item.Role()), JSON: item.JSON}, nil
}

// Stream implements [model.Model].
func (c *commandModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		it, err := c.answer(req)
		if err == nil && ctx.Err() != nil {
			err = &model.Error{Kind: model.ErrorCancelled, Provider: commandAPI, Err: context.Cause(ctx)}
		}
		if err != nil {
			yield(nil, err)
			return
		}
		yield(model.Answer{Item: it}, nil)
	}
}

func (c *commandModel) answer(req *model.Request) (transcript.Item, error) {
	it := transcript.Item{Role: transcript.RoleAssistant, Model: commandAPI, Finish: transcript.FinishStop, Usage: &transcript.Usage{}}
	failed := func(why string, err error) (transcript.Item, error) {
		return it, &model.Error{Kind: model.ErrorInvalid, Provider: commandAPI, Message: why, Err: err}
	}
	var last []transcript.Item // the items after the last answer
	calls := 0
	for _, m := range req.Messages {
		var e transcript.Encoded
		if err := e.Parse(m.JSON); err != nil {
			return failed("cannot read the messages", err)
		}
		item, err := e.Decode()
		if err != nil {
			return failed("cannot read the messages", err)
		}
		if item.Role == transcript.RoleAssistant {
			last, calls = nil, calls+1
			continue
		}
		last = append(last, item)
	}
	if text, ok := resultOf(last); ok {
		it.Parts = []transcript.Part{transcript.Text{Text: text}}
		return it, nil
	}
	line, err := c.command(inputTo(last))
	if err != nil {
		return failed(err.Error(), nil)
	}
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		return failed("cannot write the command", err)
	}
	it.Finish = transcript.FinishToolUse
	it.Parts = []transcript.Part{transcript.ToolUse{ID: fmt.Sprintf("command-%d", calls+1), Name: "Bash", Input: input}}
	return it, nil
}

// resultOf returns the text of the command's result, if it has run.
func resultOf(items []transcript.Item) (text string, ok bool) {
	for _, it := range items {
		for _, p := range it.Parts {
			if r, is := p.(transcript.ToolResult); is {
				ok = true
				text += r.Text()
			}
		}
	}
	return text, ok
}

// inputTo returns the text of the newest user items.
func inputTo(items []transcript.Item) string {
	var words []string
	for _, it := range items {
		if it.Role == transcript.RoleUser {
			words = append(words, it.Text())
		}
	}
	return strings.Join(words, "\n")
}

// stdinLimit is the maximum input of a command, in bytes: the input is part of the command line, which
// is limited to 128 KiB.
const stdinLimit = 96 << 10

// command returns the command line to run. If there is an input, it follows the command as a quoted
// here-document, so that the shell does not interpret the input.
func (c *commandModel) command(input string) (string, error) {
	if !c.stdin {
		return c.line, nil
	}
	switch {
	case len(input) > stdinLimit:
		return "", fmt.Errorf("the input is %d bytes long; a command takes at most %d", len(input), stdinLimit)
	case strings.ContainsRune(input, 0):
		return "", fmt.Errorf("the input has a zero byte, which a command line cannot contain")
	}
	end := "INPUT"
	for hasLine(input, end) {
		end += "_"
	}
	return "{ " + c.line + "\n} <<'" + end + "'\n" + strings.TrimSuffix(input, "\n") + "\n" + end + "\n", nil
}

func hasLine(text, line string) bool {
	for l := range strings.Lines(text) {
		if strings.TrimRight(l, "\r\n") == line {
			return true
		}
	}
	return false
}
