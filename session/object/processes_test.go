package object_test

import (
	"context"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/object"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
)

// dial folds often, so that processes meet in that, too.
func dial(ctx context.Context, at string) (session.Store, error) {
	return object.Open(ctx, at, &object.Options{FoldSlots: 4})
}

func TestMain(m *testing.M) { sessiontest.Main(m, dial) }

func TestProcessesRace(t *testing.T) { sessiontest.RunProcesses(t, newURL(t), dial) }
