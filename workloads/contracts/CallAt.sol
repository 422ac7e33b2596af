pragma solidity 0.8.30;

/// Values by key, to be asked for at past blocks.
contract CallAt {
    mapping(uint256 => uint256) private values;

    event Put(uint256 indexed key, uint256 value);

    function put(uint256 key, uint256 value) external {
        values[key] = value;
        emit Put(key, value);
    }

    function at(uint256 key) external view returns (uint256 value) {
        return values[key];
    }
}
