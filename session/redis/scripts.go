package redis

import (
	_ "embed" // the scripts lie in files of their own

	"github.com/redis/go-redis/v9"
)

// The scripts are what changes and reads the data: each runs as one step that no other
// command comes between.
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

	acquireScript = redis.NewScript(commonSource + acquireSource)
	appendScript  = redis.NewScript(commonSource + appendSource)
	createScript  = redis.NewScript(commonSource + createSource)
	deleteScript  = redis.NewScript(commonSource + deleteSource)
	eraseScript   = redis.NewScript(commonSource + eraseSource)
	heldScript    = redis.NewScript(commonSource + heldSource)
	listScript    = redis.NewScript(commonSource + listSource)
	lookScript    = redis.NewScript(commonSource + lookSource)
	putMetaScript = redis.NewScript(commonSource + putMetaSource)
	readScript    = redis.NewScript(commonSource + readSource)
	releaseScript = redis.NewScript(commonSource + releaseSource)
	renewScript   = redis.NewScript(commonSource + renewSource)
)
