-- The status of this kind follows kstatus: observedGeneration, and the conditions Ready, Reconciling and Stalled.
local health_status = {status = "Progressing", message = "Waiting for operator-controller to report on this generation"}
if obj.status == nil or obj.status.conditions == nil then
  return health_status
end
if obj.status.observedGeneration ~= obj.metadata.generation then
  return health_status
end

local stalled = false
local ready = {status = "Unknown", reason = "", message = ""}
for _, condition in ipairs(obj.status.conditions) do
  if condition.type == "Stalled" and condition.status == "True" then
    stalled = true
  end
  if condition.type == "Ready" then
    ready = condition
  end
end
health_status.message = ready.message

-- A person or the operator decides how this goes on: a sync waits, and does not fail.
local suspended = obj.spec.paused == true or ready.reason == "ApprovalRequired"
  or (ready.reason == "OperatorConditionNotUpgradeable" and ready.status ~= "True")

if obj.metadata.deletionTimestamp ~= nil then
  health_status.status = "Progressing"
elseif stalled then
  health_status.status = "Degraded"
elseif suspended then
  health_status.status = "Suspended"
elseif ready.status == "True" then
  health_status.status = "Healthy"
end
return health_status
