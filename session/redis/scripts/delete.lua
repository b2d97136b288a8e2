-- delete: the session is gone, and with it every deleted parent that no fork needs any more
local was = redis.call('HMGET', SESSION, 'head', 'deleted')
if not was[1] or was[2] then
  return {'missing'}
end
listing(false)
redis.call('DEL', LEASE)
redis.call('HDEL', SESSION, 'title', 'summary', 'tag', 'prompt', 'project', 'cwd', 'branch', 'run', 'owner', 'trashed')
redis.call('HSET', SESSION, 'deleted', '1')
local at = id
while at do
  local session, records, forks = base .. 'session:' .. at, base .. 'records:' .. at, base .. 'forks:' .. at
  local s = redis.call('HMGET', session, 'deleted', 'parent', 'parent_seq', 'head')
  if not s[1] then
    break
  end
  local top = redis.call('ZREVRANGE', forks, 0, 0, 'WITHSCORES')
  if top[2] then
    local need = tonumber(top[2])
    local keep = need - tonumber(s[3] or '0')
    if need < tonumber(s[4]) then
      if keep > 0 then
        redis.call('LTRIM', records, 0, keep - 1)
        redis.call('HSET', session, 'digest', digest(redis.call('LINDEX', records, -1)))
      else
        redis.call('UNLINK', records)
      end
      redis.call('HSET', session, 'head', string.format('%.0f', need))
    end
    break
  end
  redis.call('UNLINK', records)
  redis.call('DEL', session)
  if s[2] then
    redis.call('ZREM', base .. 'forks:' .. s[2], at)
  end
  at = s[2]
end
redis.pcall('PUBLISH', NEWS, '')
return {'ok'}
