package sandbox

import (
	"errors"

	"github.com/holdfast-dev/holdfast/policy"
)

// Placeholders that deny, until the checker is there.

var errTodo = errors.New("not built yet")

type checker struct{}

func newChecker(*Settings, *Options) (*Checker, error) { return nil, errTodo }
func (checker) checkPath(string, string, Op) error     { return errTodo }
func (checker) checkCommand(string, string) error      { return errTodo }
func (checker) evaluate(policy.Request) policy.Verdict { return policy.Verdict{Effect: policy.Deny} }
func normalize(path, cwd, home string) (string, error) { return "", errTodo }
