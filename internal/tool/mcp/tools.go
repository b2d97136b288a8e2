package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/truncate"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// remoteTool is a tool of a server.
type remoteTool struct {
	l      *serverLink
	spec   tool.Spec
	name   string // the server's name for it
	title  string
	hints  []string // the server's annotations
	person bool     // the server requires user interaction
	digest string   // digest of the complete description that the model saw
}

// Spec returns the server's description of the tool. It is never read-only, because the server's
// claim is not verified.
func (t *remoteTool) Spec() tool.Spec { return t.spec }

func (t *remoteTool) size() int {
	return len(t.spec.Name) + len(t.spec.Description) + len(t.spec.Input)
}

// Requests returns one request for the complete call, because only the server knows what the call
// would touch.
func (t *remoteTool) Requests(call *tool.Call) ([]policy.Request, error) {
	input, err := arguments(call.Input)
	if err != nil {
		return nil, call.InvalidInput(err)
	}
	r := policy.Request{
		Session: call.Session, Tool: t.spec.Name, Operation: policy.OpMCP,
		Resource: t.l.server.Name + "/" + t.name, Input: input, Person: t.person, Confined: t.l.confined(),
	}
	if len(t.hints) > 0 {
		r.Display = indented(input) + "\n[the server calls it " + strings.Join(t.hints, ", ") + "; this is not verified]"
	}
	return []policy.Request{r}, nil
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// Run calls the tool. Any failure of the server is returned as a result.
func (t *remoteTool) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	input, err := arguments(call.Input)
	if err != nil {
		return tool.Failure(call.InvalidInput(err).Error()), nil // the model reads the error
	}
	for again := true; ; again = false {
		n, err := t.l.connection(ctx)
		if err != nil {
			return failure(err), nil
		}
		if why := t.changeReason(); why != "" {
			return tool.Failure(why), nil
		}
		r, unheard := n.call(ctx, t, call, input)
		if !unheard || !again {
			return r, nil
		}
	}
}

// changeReason returns the reason why the server's tool is not the same as the tool that was offered,
// checked and shown.
func (t *remoteTool) changeReason() string {
	switch now := t.l.find(t.spec.Name); {
	case now == nil:
		return fmt.Sprintf("MCP server %q no longer has the tool %s", t.l.server.Name, t.spec.Name)
	case now.digest != t.digest:
		return fmt.Sprintf("MCP server %q has changed the tool %s since it was offered; it was not called. Read its current description, then call it again", t.l.server.Name, t.spec.Name)
	}
	return ""
}

// failure returns an error result that contains a hint.
func failure(err error) tool.Result {
	text := shown(err.Error())
	if hint := hintOf(err); hint != "" {
		text += "\nhint: " + hint
	}
	return tool.Failure(text)
}

// Limits of an input.
const (
	maxInput = 4 << 20 // bytes
	maxDepth = 64
)

// arguments parses an input for a server. The input must be one JSON object without duplicate
// fields, which two programs could read differently.
func arguments(raw json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return json.RawMessage("{}"), nil
	}
	if len(raw) > maxInput {
		return nil, fmt.Errorf("the input has %d bytes; at most %d are allowed", len(raw), maxInput)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	first, err := dec.Token()
	if err == nil && first != json.Delim('{') {
		return nil, errors.New("want a JSON object")
	}
	if err == nil {
		err = checkMembers(dec, 1)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		if _, tail := dec.Token(); !errors.Is(tail, io.EOF) {
			err = errors.New("more than one JSON value")
		}
	}
	return raw, err
}

// checkMembers reads the rest of an object after its opening brace.
func checkMembers(dec *json.Decoder, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if seen[name] {
			return fmt.Errorf("duplicate field %q", truncate.String(name, 60))
		}
		seen[name] = true
		if err := checkValue(dec, depth); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// checkValue reads one value.
func checkValue(dec *json.Decoder, depth int) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return checkMembers(dec, depth+1)
	case json.Delim('['):
		if depth >= maxDepth {
			return fmt.Errorf("nested deeper than %d", maxDepth)
		}
		for dec.More() {
			if err := checkValue(dec, depth+1); err != nil {
				return err
			}
		}
		_, err = dec.Token()
	}
	return err
}
