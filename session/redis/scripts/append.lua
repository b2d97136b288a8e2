-- append: expect epoch head digest updated bytes reset messages questions prompt largest n, n words of fields, records
local expect, epoch = ARGV[3], ARGV[4]
local fields = 15 + tonumber(ARGV[14])
local was = redis.call('HMGET', SESSION, 'head', 'deleted', 'parent_seq', 'at', 'trashed', 'questions', 'prompt', 'largest')
local head, parent_seq = was[1], was[3] or '0'
if not head or was[2] then
  return {'missing'}
end
if head ~= expect then
  if present(parent_seq, expect, fields) then
    redis.call('HSET', SESSION, 'head', head) -- so that WAITAOF has something to wait for
    return {'ok'}
  end
  return epoch ~= '0' and fenced(epoch) or {'conflict', head}
end
local refused = epoch ~= '0' and fenced(epoch)
if refused then
  return refused
end
if redis.call('LLEN', RECORDS) ~= tonumber(head) - tonumber(parent_seq) then
  return {'damaged', head}
end

push(fields) -- first: it is what a full server refuses
redis.call('HSET', SESSION, 'head', ARGV[5], 'digest', ARGV[6], 'updated', ARGV[7])
redis.call('HINCRBY', SESSION, 'size', ARGV[8])
if ARGV[9] == '1' then
  redis.call('HSET', SESSION, 'messages', ARGV[10])
elseif ARGV[10] ~= '0' then
  redis.call('HINCRBY', SESSION, 'messages', ARGV[10])
end
if tonumber(ARGV[13]) > tonumber(was[8] or '0') then
  redis.call('HSET', SESSION, 'largest', ARGV[13])
end
local member = was[4] .. id
if ARGV[11] ~= '0' then
  local open = redis.call('HINCRBY', SESSION, 'questions', ARGV[11])
  redis.call(open > 0 and 'SADD' or 'SREM', base .. 'by:asked', member)
end
if ARGV[12] ~= '' and not was[7] then
  redis.call('HSET', SESSION, 'prompt', ARGV[12])
end
local trashed = was[5]
for i = 15, fields - 1, 2 do
  local field, value = ARGV[i], ARGV[i + 1]
  if field == 'trashed' then
    trashed = value ~= ''
  end
  for _, f in ipairs(FILTERS) do
    if f == field then
      filed('SREM', field, redis.call('HGET', SESSION, field), member)
      filed('SADD', field, value, member)
    end
  end
end
put(15, fields - 1)
if (was[5] and true) ~= (trashed and true) then
  redis.call('ZREM', base .. (was[5] and 'trash' or 'live'), member)
end
redis.call('ZADD', base .. (trashed and 'trash' or 'live'), ARGV[7], member)
redis.pcall('PUBLISH', NEWS, ARGV[5])
return {'ok'}
