package redis_test

import (
	"context"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/redis"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
)

func dial(ctx context.Context, at string) (session.Store, error) { return redis.Open(ctx, at, nil) }

func TestMain(m *testing.M) { sessiontest.Main(m, dial) }

func TestProcessesRace(t *testing.T) { sessiontest.RunProcesses(t, newURL(t), dial) }
