package cli

import (
	"errors"

	"github.com/holdfast-dev/holdfast/model"
)

func (p *Program) scripted(path string) (model.Model, error) { return nil, errors.New(path) }
