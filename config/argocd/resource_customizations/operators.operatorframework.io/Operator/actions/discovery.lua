local paused = obj.spec.paused == true

local waits = false
if obj.status ~= nil and obj.status.available ~= nil and obj.status.available.reason == "ApprovalRequired" then
  local approved = nil
  if obj.metadata.annotations ~= nil then
    approved = obj.metadata.annotations["operators.operatorframework.io/approved-version"]
  end
  waits = approved ~= obj.status.available.version
end

local actions = {}
actions["approve"] = {
  ["disabled"] = not waits,
  ["iconClass"] = "fa fa-fw fa-check",
  ["displayName"] = "Approve the version that waits"
}
actions["pause"] = {["disabled"] = paused, ["iconClass"] = "fa fa-fw fa-pause-circle", ["displayName"] = "Pause"}
actions["resume"] = {["disabled"] = not paused, ["iconClass"] = "fa fa-fw fa-play-circle", ["displayName"] = "Resume"}
return actions
