package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/truncate"
	"github.com/holdfast-dev/holdfast/policy"
)

// funcTool is the tool that New returns.
type funcTool[In any] struct {
	spec     Spec
	schema   *schema
	run      func(context.Context, *Call, In) (Result, error)
	requests func(*Call, In) ([]policy.Request, error)
}

// maxName limits a tool's name in bytes.
const maxName = 128

// validName reports whether every provider accepts a tool's name. It is not a regular expression,
// because compiling one takes almost a millisecond at every start of a program.
func validName(name string) bool {
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// New makes a tool from a Go function.
//
// The input schema is inferred from In, which is a struct: json tags name the fields, omitempty
// makes a field optional, and jsonschema tags describe the fields. If the Spec has its own Input,
// that is the schema instead. In may then be a map or json.RawMessage. Every call is checked before
// it is decoded. Unknown, repeated and missing fields, strings for numbers, fractions for integers
// and integers beyond 2^53 are rejected. The text of the error starts with
// "Failed to decode input:" and names the field. Null for an optional field means that the field is
// absent.
//
// The function requests returns what a call would touch. In its requests, an empty tool, session or
// input is filled in, and ReadOnly is set if the spec is read-only. If requests is nil, a call has
// one request that contains only the name of the tool. The user is then asked in the modes that ask
// about a tool. The functions run and requests must be safe for concurrent use.
func New[In any](
	spec Spec,
	run func(context.Context, *Call, In) (Result, error),
	requests func(*Call, In) ([]policy.Request, error),
) (Tool, error) {
	if !validName(spec.Name) {
		return nil, fmt.Errorf("tool name %q: want 1 to 128 of a-z, A-Z, 0-9, _ and -", spec.Name)
	}
	if run == nil {
		return nil, fmt.Errorf("tool %s has no run function", spec.Name)
	}
	var s *schema
	var err error
	if len(spec.Input) == 0 {
		s, err = inferSchema[In]()
	} else {
		s, err = parseSchema(spec.Input)
	}
	if err != nil {
		return nil, fmt.Errorf("tool %s: input schema: %w", spec.Name, err)
	}
	spec.Input = s.text
	return &funcTool[In]{spec: spec, schema: s, run: run, requests: requests}, nil
}

// Spec describes the tool.
func (t *funcTool[In]) Spec() Spec { return t.spec }

// Requests returns what the call would touch. The error for an invalid input is that of
// [Call.InvalidInput].
func (t *funcTool[In]) Requests(call *Call) ([]policy.Request, error) {
	in, err := t.decode(call)
	if err != nil {
		return nil, err
	}
	list := []policy.Request{{Resource: t.spec.Name}}
	if t.requests != nil {
		if list, err = t.requests(call, in); err != nil {
			return nil, err
		}
	}
	for i := range list {
		r := &list[i]
		r.Tool = cmp.Or(r.Tool, t.spec.Name)
		r.Session = cmp.Or(r.Session, call.Session)
		if r.Input == nil {
			r.Input = call.Input
		}
		r.ReadOnly = r.ReadOnly || t.spec.ReadOnly
	}
	return list, nil
}

// Run runs the call; an invalid input is an error result.
func (t *funcTool[In]) Run(ctx context.Context, call *Call) (Result, error) {
	in, err := t.decode(call)
	if err != nil {
		return Failure(err.Error()), nil
	}
	return t.run(ctx, call, in)
}

func (t *funcTool[In]) decode(call *Call) (In, error) {
	var in In
	clean, err := t.schema.check(call.Input)
	if err == nil {
		err = json.Unmarshal(clean, &in)
	}
	if err != nil {
		return in, call.InvalidInput(err)
	}
	return in, nil
}

// InvalidInput returns the error of [Tool.Requests] for an input that does not match the schema of
// the tool; err contains the reason. Its text is intended for the model.
func (c *Call) InvalidInput(err error) error { return &inputError{err} }

type inputError struct{ err error }

func (e *inputError) Error() string {
	return "Failed to decode input: " + truncate.String(e.err.Error(), 400)
}

func (e *inputError) Unwrap() error { return e.err }
