package memory_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
)

func TestStore(t *testing.T) {
	sessiontest.Run(t, func(testing.TB) session.Store { return memory.New() }, sessiontest.Capabilities{
		Reopen: func(_ testing.TB, s session.Store) session.Store { return s },
	})
}
