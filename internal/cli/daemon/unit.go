package daemon

import (
	"context"
	_ "embed"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
)

var (
	//go:embed unit/holdfast.service
	serviceUnit string
	//go:embed unit/holdfast.socket
	socketUnit string
)

func (c *unitCmd) Run(_ context.Context, p *command.Program) error {
	if c.Socket {
		p.Out.Text(socketUnit)
		return nil
	}
	path, err := p.Executable()
	if err != nil {
		return err
	}
	unit := strings.ReplaceAll(serviceUnit, "@BINARY@", quoteUnit(path))
	if !c.Resume {
		unit = strings.Replace(unit, " daemon --resume\n", " daemon\n", 1)
	}
	p.Out.Text(unit)
	return nil
}

// quoteUnit quotes a path for ExecStart: specifiers and variables are doubled, and a path with
// special characters is put in quotes.
func quoteUnit(path string) string {
	path = strings.NewReplacer("%", "%%", "$", "$$").Replace(path)
	if !strings.ContainsAny(path, " \t\"'\\;") {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}
