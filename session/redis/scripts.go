package redis

import (
	_ "embed" // the scripts are in separate files
	"sync"

	"github.com/holdfast-dev/holdfast/internal/redis"
)

// The scripts read and change the data: each runs as one atomic step, and no other
// command runs in between.
var (
	//go:embed scripts/common.lua
	commonSource string
	//go:embed scripts/acquire.lua
	acquireSource string
	//go:embed scripts/append.lua
	appendSource string
	//go:embed scripts/create.lua
	createSource string
	//go:embed scripts/delete.lua
	deleteSource string
	//go:embed scripts/erase.lua
	eraseSource string
	//go:embed scripts/held.lua
	heldSource string
	//go:embed scripts/list.lua
	listSource string
	//go:embed scripts/look.lua
	lookSource string
	//go:embed scripts/put_meta.lua
	putMetaSource string
	//go:embed scripts/read.lua
	readSource string
	//go:embed scripts/release.lua
	releaseSource string
	//go:embed scripts/renew.lua
	renewSource string

	acquireScript = script(&acquireSource)
	appendScript  = script(&appendSource)
	createScript  = script(&createSource)
	deleteScript  = script(&deleteSource)
	eraseScript   = script(&eraseSource)
	heldScript    = script(&heldSource)
	listScript    = script(&listSource)
	lookScript    = script(&lookSource)
	putMetaScript = script(&putMetaSource)
	readScript    = script(&readSource)
	releaseScript = script(&releaseSource)
	renewScript   = script(&renewSource)
)

// script creates a script on first use. Otherwise every program that links this store would compute
// the digests when it starts.
func script(source *string) func() *redis.Script {
	return sync.OnceValue(func() *redis.Script { return redis.NewScript(commonSource + *source) })
}
